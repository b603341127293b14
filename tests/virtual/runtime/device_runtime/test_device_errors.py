"""Errors of the device runtime: those of hardware, and those that no thread asked about."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from device_runtime import MEASURED, RDC
from host_arrays import zeros

import gridstride as gs

ERRORS = """
__global__ void child(int *p) { atomicAdd(p, 1); }
__global__ __launch_bounds__(64) void narrow(int *p) { atomicAdd(p, 1); }
typedef void (*Kernel)(int *);
__global__ void parent(int *p, int *e) {
    CASE
    e[0] = cudaPeekAtLastError(); e[1] = cudaGetLastError(); e[2] = cudaGetLastError();
}
"""
NO_KERNEL = {"Kernel k = 0; k<<<1, 1>>>(p);": [98, 98, 0, 0]}


@pytest.mark.parametrize(("case", "given"), [*MEASURED["errors"].items(), *NO_KERNEL.items()])
def test_errors_of_launches_are_those_of_hardware(gpu: gs.VirtualGPU, case: str, given: list[int]) -> None:
    p, e = zeros(1), zeros(3)
    with warnings.catch_warnings(action="error"):
        gs.cuda(ERRORS.replace("CASE", case), RDC)["parent"][1, 1](p, e)
    assert [*e.tolist(), int(p[0])] == given


def test_an_error_that_no_thread_asked_for_is_said_to_the_host(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        "__global__ void child() {}\n__global__ void parent(int n) {\n if (threadIdx.x == 5) child<<<1, n>>>();\n}", RDC
    )["parent"]
    says = r"kernel.cu:3: failed launch in kernel parent: the launch of child failed with cudaErrorInvalidConfiguration"
    with pytest.warns(RuntimeWarning, match=says):
        kernel[1, 32](2000)
    (found,) = kernel.observe(1, 32)(2000).findings
    assert (found.kind, found.line, found.thread) == ("failed_launch", 3, (5, 0, 0))
    assert not kernel.observe(1, 32)(20).findings


def test_names_and_texts_of_errors(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        """__device__ int copied(char *to, const char *from) { int n = 0; while ((to[n] = from[n])) ++n; return n; }
    __global__ void k(char *name, char *text, int code) {
        copied(name, cudaGetErrorName((cudaError_t)code)); copied(text, cudaGetErrorString((cudaError_t)code));
    }""",
        RDC,
    )["k"]
    for code, want in (
        (9, ("cudaErrorInvalidConfiguration", "invalid configuration argument")),
        (12345, ("unr", "unr")),
    ):
        name, text = np.zeros(64, np.int8), np.zeros(64, np.int8)
        kernel[1, 1](name, text, code)
        for have, start in zip((name, text), want, strict=True):
            assert have.tobytes().rstrip(b"\0").decode().startswith(start)
