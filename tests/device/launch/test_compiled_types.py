"""A launch checks arguments against the types that the compiler settled, whatever stands in the text."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.compiler import compile_cuda

BRANCH = "#if {0}\n#include <cuda_fp16.h>\ntypedef __half T;\n#else\ntypedef float T;\n#endif\n"
BODY = "__global__ void twice(const T* x, T* y) { y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x]; }"


@pytest.mark.parametrize("linkage", ["", 'extern "C" '])
@pytest.mark.parametrize(("branch", "right", "wrong"), [(0, np.float32, np.float16), (1, np.float16, np.float32)])
def test_the_branch_of_an_if_that_is_compiled_counts(linkage: str, branch: int, right: type, wrong: type) -> None:
    with gs.use(gs.VirtualGPU()):
        kernel = gs.cuda(BRANCH.format(branch) + linkage + BODY)["twice"]
        x, y = np.arange(4, dtype=right), np.zeros(4, right)
        kernel[1, 4](x, y)
        assert y.tolist() == [0, 2, 4, 6]
        with pytest.raises(gs.LaunchError, match=rf"x is const .*\*, an array of {np.dtype(wrong)} was given"):
            kernel[1, 4](x.astype(wrong), y)


@pytest.mark.parametrize("linkage", ["", 'extern "C" '])
def test_a_name_given_to_float2_takes_complex_numbers(linkage: str) -> None:
    source = f"typedef float2 Complex;\n{linkage}__global__ void one(Complex* x) {{ x[0].y = 1; }}"
    with gs.use(gs.VirtualGPU()):
        x = np.zeros(2, np.complex64)
        gs.cuda(source)["one"][1, 1](x)
    assert x.tolist() == [1j, 0]


def test_asking_for_types_leaves_the_ptx_as_it_is() -> None:
    plain = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'
    assert (
        compile_cuda(f"typedef float T;\n{plain}").ptx == compile_cuda(f"typedef float T;\n{plain}\n#if 0\n#endif").ptx
    )
    assert compile_cuda(f"{plain}\n#if 0\n#endif").types == {"k": "_Z19gridstride_types_ofIFvPfEE"}
    assert not compile_cuda(plain).types


def test_kernels_that_cannot_be_asked_for_compile_all_the_same() -> None:
    source = (
        '#if 0\nextern "C" __global__ void absent(T* x) {}\n#endif\n'
        "__global__ void two(float* x) {}\n__global__ void two(int* x) {}\n"
        'extern "C" __global__ void k(float* x) {}'
    )
    assert compile_cuda(source).ptx.count(".entry") == 3


def test_a_kernel_for_c_in_a_namespace_keeps_its_parameters_names() -> None:
    with gs.use(gs.VirtualGPU()):
        kernel = gs.cuda('namespace ns { struct Q { int b; }; extern "C" __global__ void k(Q* q, int n) {} }')["k"]
        assert [each.label for each in kernel.bound().parameters] == ["q", "n"]
