"""Recursion whose local arrays are more than the stack that hardware gives a thread."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.findings.finding import KernelFinding

SOURCE = """
__device__ __noinline__ int sum(int *given, int depth) {
    int own[16];
    for (int i = 0; i < 16; ++i) own[i] = given[i] + (i == depth % 16);
    return depth ? sum(own, depth - 1) + own[depth % 7] : own[0];
}
extern "C" __global__ void k(int *x, int depth) {
    int first[16] = {};
    x[threadIdx.x] = sum(first, depth);
}
"""


def findings(depth: int, stack: int | None = None) -> tuple[KernelFinding, ...]:
    device = gs.VirtualGPU(workers=1, memory=16 << 20)
    if stack is not None:
        device.stack = stack
    with gs.use(device):
        kernel = gs.cuda(SOURCE, filename="stack.cu")["k"]
        return kernel.observe(1, 32)(gs.to_device(np.zeros(32, np.int32)), depth).findings


def test_frames_that_fit_hardwares_stack_are_none() -> None:
    assert findings(12) == ()


@pytest.mark.parametrize("depth", [20, 60])
def test_frames_that_do_not_are_found_once(depth: int) -> None:
    (found,) = findings(depth)
    assert (found.kind, found.line) == ("stack_overflow", 2)
    assert "hardware's stack has 1,024" in found.message
    assert "cudaLimitStackSize" in found.message


def test_a_stack_of_another_size_is_what_counts() -> None:
    assert findings(60, 65536) == ()
    (found,) = findings(12, 512)
    assert "hardware's stack has 512" in found.message


def test_a_launch_that_is_not_observed_has_more() -> None:
    with gs.use(gs.VirtualGPU(workers=1, memory=16 << 20)):
        x = np.zeros(32, np.int32)
        gs.cuda(SOURCE)["k"][1, 32](x, 60)
    assert (x > 0).all()
