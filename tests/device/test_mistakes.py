"""Mistakes with `gs` that everyone makes once: what is said names the value and what to write."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

SOURCE = "__global__ void saxpy(int n, float a, const float* x, float* y) { y[threadIdx.x] = a * x[threadIdx.x]; }"


@pytest.fixture(autouse=True)
def on_the_virtual_gpu():
    with gs.use("virtual"):
        yield


def test_a_kernel_called_without_a_grid_says_how_it_is_launched() -> None:
    with pytest.raises(gs.LaunchError, match=r"saxpy\(…\) does not say how many threads: saxpy\[grid, block\]\(…\)"):
        gs.cuda(SOURCE)["saxpy"](4, 2.0, None, None)


def test_a_launch_by_position_names_the_arguments() -> None:
    with pytest.raises(gs.LaunchError, match=r"saxpy\.launch\(grid=…, block=…, args=\(…\)\)"):
        gs.cuda(SOURCE)["saxpy"].launch(1, 4, (4, 2.0, None, None))


def test_a_kernel_is_an_attribute_of_its_module_too() -> None:
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    gs.cuda(SOURCE).saxpy[1, 4](4, 2.0, x, y)
    assert y.tolist() == [0, 2, 4, 6]


def test_an_attribute_that_is_no_kernel_names_those_there_are() -> None:
    module = gs.cuda(SOURCE)
    with pytest.raises(AttributeError, match="has no kernel 'saxpi'; did you mean 'saxpy'"):
        _ = module.saxpi
    assert not hasattr(module, "__array_interface__")


@pytest.mark.parametrize(
    ("function", "path"), [("cuda", "kernels/add.cu"), ("ptx", "out.ptx"), ("cuda", "no folder/k.cuh")]
)
def test_a_path_given_as_text_says_how_to_give_the_file(function: str, path: str) -> None:
    with pytest.raises(
        ValueError, match=rf'gs.{function} takes the source itself; .* gs.{function}\(Path\("{path}"\)\)'
    ):
        getattr(gs, function)(path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("-arch=sm_80", r"unknown compiler option '-arch=sm_80': .* gs.use\('a100'\)"),
        ("-O3 -lineinfo", "unknown compiler option '-O3': that is nvcc's"),
        ("-use_fast_math -DN=4", r"not one string: options=\('-use_fast_math', '-DN=4'\)"),
    ],
)
def test_options_as_one_string_are_spelled_as_a_tuple(options: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        gs.cuda(SOURCE, options=options)


def test_a_chips_name_is_a_virtual_gpu_of_that_kind() -> None:
    with gs.use("A100") as device:
        assert device.properties.compute_capability == (8, 0)
        assert gs.device("a100") is device


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("half h = x[0];", "#include <cuda_fp16.h>"),
        ("x[0] = __half2float(1);", "#include <cuda_fp16.h>"),
        ("__nv_bfloat16 h;", "#include <cuda_bf16.h>"),
        ("x[0] = FLT_MAX;", "#include <cfloat>"),
        ("auto g = cooperative_groups::this_grid();", "#include <cooperative_groups.h>"),
        ("std::vector<float> v;", "std::vector is host code, which kernels do not have: pass a pointer and a size"),
        ("std::cout << 1;", "printf works in kernels"),
        ("x[0] = std::numeric_limits<float>::max();", "#include <limits>"),
        ("x[0] = __shfl_down(x[0], 1);", r"__shfl_down_sync\(0xffffffff, …\)"),
        ("curandState s;", "#include <curand_kernel.h>"),
    ],
)
def test_a_name_without_its_header_is_told_with_what_to_write(line: str, note: str) -> None:
    with pytest.raises(gs.CompileError, match=note):
        gs.cuda(f"#include <vector>\n#include <iostream>\n__global__ void k(float* x) {{ {line} }}")


def test_a_header_of_another_package_names_the_package() -> None:
    with pytest.raises(gs.CompileError, match=r"cutlass.h.*\n(.*\n)*.*give its folder, include_paths="):
        gs.cuda("#include <cutlass/cutlass.h>\n__global__ void k() {}")
