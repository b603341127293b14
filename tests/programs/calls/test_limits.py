"""The limits of a device that a program asks for and sets."""

from __future__ import annotations

import pytest

import gridstride as gs
from gridstride.programs.calls.limits import RESET, DeviceLimits
from gridstride.programs.calls.status import Status
from gridstride.virtual.gpu import VirtualGPU

STACK, PRINTF, HEAP, DEPTH, PENDING, FETCH, PERSISTING = range(7)


@pytest.fixture
def limits() -> DeviceLimits:
    return DeviceLimits(VirtualGPU(workers=1, memory=64 << 20))


def asked(limits: DeviceLimits, which: int) -> int:
    value = [0]
    assert limits.limit(which, 0, value) == Status.SUCCESS
    return value[0]


def test_what_a_device_begins_with(limits: DeviceLimits) -> None:
    begun = [asked(limits, which) for which in (STACK, PRINTF, HEAP, DEPTH, PENDING, FETCH, PERSISTING)]
    assert begun == [1024, 1 << 20, 8 << 20, 2, 2048, 64, 0]


@pytest.mark.parametrize("which", range(7))
def test_what_is_set_is_answered(limits: DeviceLimits, which: int) -> None:
    assert limits.limit(which, 1, [1 << 20]) == Status.SUCCESS
    assert asked(limits, which) == 1 << 20


def test_the_stack_that_is_set_is_the_devices(limits: DeviceLimits) -> None:
    limits.limit(STACK, 1, [1 << 16])
    assert limits.device.stack == 1 << 16


def test_a_limit_that_there_is_not(limits: DeviceLimits) -> None:
    assert limits.limit(99, 0, [0]) == Status.UNSUPPORTED_LIMIT


KERNEL = """extern "C" __global__ void k() { free(malloc(16)); }"""


def test_the_heap_is_set_before_a_kernel_uses_it(limits: DeviceLimits) -> None:
    with gs.use(limits.device):
        kernel = gs.cuda(KERNEL)["k"]
        assert limits.limit(HEAP, 1, [1 << 20]) == Status.SUCCESS
        kernel[1, 1]()
    assert limits.limit(HEAP, 1, [2 << 20]) == Status.INVALID_VALUE
    assert asked(limits, HEAP) == 1 << 20
    assert limits.limit(HEAP, RESET, [0]) == Status.SUCCESS
    assert limits.limit(HEAP, 1, [2 << 20]) == Status.SUCCESS


def test_what_is_put_off_runs_with_the_limits_of_its_launch() -> None:
    seen = []
    device = VirtualGPU(workers=1, memory=64 << 20)
    limits = DeviceLimits(device, lambda: seen.append(device.stack))
    limits.limit(STACK, 0, [0])
    assert seen == []
    limits.limit(STACK, 1, [1 << 16])
    assert seen == [1024]
