"""Linking and device-side launches on a real GPU: the driver's linker, CUDA's device runtime, and its errors."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.compiler.headers import library

pytestmark = pytest.mark.gpu
RDC = ("-rdc=true",)

CALLER = """
extern __device__ int calls;
extern __device__ float scale(float, int);
__global__ void k(float *x) { x[threadIdx.x] = scale(x[threadIdx.x], threadIdx.x); atomicAdd(&calls, 1); }
"""
CALLEE = """
__device__ int calls = 5;
__device__ float scale(float x, int i) { return i & 1 ? 3 * x : 2 * x; }
"""


@pytest.fixture
def physical(gpu: gs.PhysicalGPU):
    with gs.use(gpu):
        yield gpu


@pytest.fixture
def runtime(physical: gs.PhysicalGPU) -> None:
    if library("libcudadevrt.a") is None:
        pytest.skip("libcudadevrt.a is not here: pip install nvidia-cuda-runtime")


def test_two_files_and_a_symbol_of_the_second(physical: gs.PhysicalGPU) -> None:
    module, x = gs.cuda([CALLER, CALLEE]), np.arange(64, dtype=np.float32)
    module["k"][1, 64](x)
    assert (x == np.arange(64) * np.where(np.arange(64) & 1, 3, 2)).all()
    assert module.symbol("calls", "int32").numpy().tolist() == [69]


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([CALLER, "__device__ int calls;"], "Undefined reference to .*scale"),
        ([CALLER, CALLEE, "__device__ int calls;"], "Multiple definition of .calls"),
        ([CALLER, CALLEE.replace("int calls", "long long calls")], "Size doesn't match for .calls"),
    ],
)
def test_what_does_not_fit_carries_the_words_of_the_linker(
    physical: gs.PhysicalGPU, sources: list, message: str
) -> None:
    with pytest.raises(gs.LinkError, match=message):
        gs.cuda(sources)


def test_ptx_that_lacks_a_function_can_be_linked_later(physical: gs.PhysicalGPU) -> None:
    alone = gs.ptx(gs.cuda(CALLER, RDC).ptx)
    with pytest.raises(gs.LinkError, match=r"gs\.link"):
        alone["k"]
    x = np.ones(32, np.float32)
    gs.link(alone, gs.ptx(gs.cuda(CALLEE, RDC).ptx))["k"][1, 32](x)
    assert x.tolist() == [2.0, 3.0] * 16


def test_children_run_in_stream_order_and_tails_last(physical: gs.PhysicalGPU, runtime: None) -> None:
    module = gs.cuda(
        """__device__ int order[64], at;
    __global__ void mark(int v) { order[at++] = v; }
    __global__ void parent() {
        mark<<<1, 1, 0, cudaStreamTailLaunch>>>(9); mark<<<1, 1>>>(1); mark<<<1, 1>>>(2); }""",
        RDC,
    )
    module["parent"][1, 1]()
    assert module.symbol("order", "int32").numpy()[:3].tolist() == [1, 2, 9]


def test_a_launch_that_cannot_be_gives_the_thread_its_error(physical: gs.PhysicalGPU, runtime: None) -> None:
    code = np.zeros(2, np.int32)
    gs.cuda(
        """__global__ void child() {}
    __global__ void parent(int *e) { child<<<1, 2000>>>(); e[0] = cudaGetLastError(); e[1] = cudaGetLastError(); }""",
        RDC,
    )["parent"][1, 1](code)
    assert code.tolist() == [9, 0]
