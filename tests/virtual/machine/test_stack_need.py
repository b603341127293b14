"""Recursion whose local arrays are more than the stack that hardware gives a thread."""

from __future__ import annotations

from typing import Any

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


def launched(depth: int, stack: int | None = None) -> np.ndarray[Any, Any]:
    device = gs.VirtualGPU(workers=1, memory=16 << 20)
    if stack is not None:
        device.stack = stack
    with gs.use(device):
        x = np.zeros(32, np.int32)
        gs.cuda(SOURCE, filename="stack.cu")["k"][1, 32](x, depth)
    return x


@pytest.mark.parametrize(("depth", "stack"), [(20, None), (300, 1 << 14)])
def test_a_launch_that_is_not_observed_ends_there(depth: int, stack: int | None) -> None:
    with pytest.raises(gs.KernelFault, match="cudaLimitStackSize") as fault:
        launched(depth, stack)
    assert (fault.value.kind, fault.value.line) == ("stack_overflow", 2)
    assert f"{stack or 1024:,} bytes" in str(fault.value)


@pytest.mark.parametrize(("depth", "stack"), [(12, None), (200, 1 << 16), (2000, 1 << 18), (200, 2**63 - 1)])
def test_recursion_goes_as_deep_as_the_limit_says(depth: int, stack: int | None) -> None:
    assert (launched(depth, stack) > 0).all()


def test_a_limit_that_changes_counts_from_the_next_launch_on() -> None:
    device = gs.VirtualGPU(workers=1, memory=16 << 20)
    with gs.use(device):
        x, kernel = np.zeros(32, np.int32), gs.cuda(SOURCE)["k"]
        with pytest.raises(gs.KernelFault):
            kernel[1, 32](x, 400)
        device.stack = 1 << 16
        kernel[1, 32](x, 400)
        device.stack = 1 << 10
        with pytest.raises(gs.KernelFault):
            kernel[1, 32](x, 400)
