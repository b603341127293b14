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
        ("thrust::tuple<int, int> t;", "#include <thrust/tuple.h>"),
        ("std::sort(x, x + 3);", "kernels have no std::sort: a loop .* CUB"),
        ("x[theadIdx.x] = 1;", "did you mean threadIdx"),
        ("x[0] = 1; __syncthread();", "did you mean __syncthreads"),
        ("_shared_ float s[32];", "did you mean __shared__"),
    ],
)
def test_what_is_not_declared_is_told_with_what_to_write(line: str, note: str) -> None:
    with pytest.raises(gs.CompileError, match=note):
        gs.cuda(f"#include <vector>\n#include <iostream>\n__global__ void k(float* x) {{ {line} }}")


def test_an_algorithm_of_thrust_says_what_kernels_have_instead() -> None:
    header = "#include <thrust/sort.h>\n#include <thrust/execution_policy.h>\n"
    with pytest.raises(gs.CompileError, match=r"thrust::sort is host code here: .* with CUB \(cub/cub.cuh\)"):
        gs.cuda(header + "__global__ void k(int* x) { thrust::sort(thrust::seq, x, x + 8); }")


def test_a_header_of_another_package_names_the_package() -> None:
    with pytest.raises(gs.CompileError, match=r"cutlass.h.*\n(.*\n)*.*give its folder, include_paths="):
        gs.cuda("#include <cutlass/cutlass.h>\n__global__ void k() {}")


@pytest.mark.parametrize("device_array", [False, True])
def test_an_array_of_another_dtype_is_told_how_to_be_made(device_array: bool) -> None:
    """NumPy makes float64 of everything with a point: everybody's first launch."""
    x = np.arange(4) * 0.5
    y = gs.to_device(np.zeros(4, np.float32))
    said = r"x is const float\*, an array of float64 was given: make it with dtype=np.float32, or pass a.astype"
    with pytest.raises(gs.LaunchError, match=said):
        gs.cuda(SOURCE)["saxpy"][1, 4](4, 2.0, gs.to_device(x) if device_array else x, y)


@pytest.mark.parametrize(
    ("grid", "block", "said"),
    [
        (1000 / 256, 256, r"grid = 3.90625 is not a whole number: rounded up it is -\(-n // threads\)"),
        (1, 2048, "block.x = 2048 is above the 1,024 of .*: take more blocks of fewer threads"),
        (
            1,
            (64, 64),
            "block 64 x 64 x 1 has 4096 threads, .* allows 1024 in a block: take more blocks of fewer threads",
        ),
    ],
)
def test_a_launch_that_cannot_be_says_what_can(grid: float, block: object, said: str) -> None:
    x = np.zeros(4, np.float32)
    with pytest.raises(gs.LaunchError, match=said):
        gs.cuda(SOURCE)["saxpy"][grid, block](4, 2.0, x, x)
