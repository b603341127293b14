"""What a program did, as it is counted and reported when it ends; and calls that are made to fail."""

from __future__ import annotations

import os

import pytest

from gridstride.compiler import compile_cuda
from gridstride.programs.calls.activity import (
    ACTIVITY_NAMES,
    CALLS,
    KERNEL_COUNTS,
    Call,
    failure,
    functions_called,
    is_activity_name,
)
from gridstride.programs.calls.status import Status
from gridstride.programs.run import reported
from gridstride.programs.timeline.calls import WAITED_FREE
from gridstride.virtual.gpu import VirtualGPU

from .boards import TO_DEVICE, TO_HOST, Setup


def test_waits_are_counted_and_empty_the_pools(setup: Setup) -> None:
    for _ in range(3):
        address = setup.allocate(1 << 20)
        setup.board.memory.pooled(0, address, 1 << 20)
        assert setup.board.memory.release(address) == Status.SUCCESS
        setup.board.waited(0, 0)
    setup.board.finish()
    counted = setup.board.activity
    assert (counted.allocations, counted.pool_allocations, counted.pool_growths, counted.waits) == (3, 3, 3, 3)


@pytest.mark.parametrize("mode", ["fast", "sanitized", "predicted"])
def test_grids_that_kernels_launch_are_counted_apart_from_the_hosts(mode: str) -> None:
    device = VirtualGPU(memory=64 << 20, workers=1, sanitize=mode == "sanitized")
    text = """
    __global__ void grandchild() {}
    __global__ void child() { if (threadIdx.x == 0) grandchild<<<3, 10>>>(); }
    extern "C" __global__ void parent() { child<<<2, 32>>>(); }
    """
    setup = Setup(device, ptx=compile_cuda(text, options=("-rdc=true",)).ptx)
    if mode == "predicted":
        setup.board.predict()
    assert setup.launch_kernel(b"parent", b"", 4) == Status.SUCCESS
    setup.board.finish()
    counted = setup.board.activity
    assert (counted.launches, counted.threads) == (1, 4)
    assert (counted.child_grids, counted.child_blocks) == (4 + 4 * 2, 4 * 2 + 4 * 2 * 3)
    assert counted.child_threads == 4 * 64 + 4 * 2 * 30


def test_what_a_program_does_is_counted(setup: Setup) -> None:
    address = setup.allocate(64)
    setup.launch(address)
    setup.launch(address, threads=33)
    for kind in (TO_DEVICE, TO_DEVICE, TO_HOST):
        setup.copy(100, kind)
    done = setup.board.activity
    assert (done.allocations, done.allocated_bytes, done.copies) == (1, 64, 3)
    assert (done.to_device_bytes, done.to_host_bytes, done.within_bytes) == (200, 100, 0)
    assert (done.launches, done.blocks, done.threads, done.warps) == (2, 2, 37, 3)
    assert done.unwaited_launches == 2
    setup.board.waited(0, 0)
    assert done.unwaited_launches == 0
    assert set(done.as_dict()) == set(ACTIVITY_NAMES)


def test_launches_that_only_a_free_waits_for_are_counted(setup: Setup) -> None:
    address = setup.allocate(64)
    setup.launch(address)
    setup.board.waited(0, 0)
    setup.board.waited(WAITED_FREE, 0)
    assert setup.board.activity.freed_launches == 0
    setup.launch(address)
    setup.board.waited(WAITED_FREE, 0)
    setup.board.waited(WAITED_FREE, 0)
    assert setup.board.activity.freed_launches == 1


def test_kernels_counts_are_those_of_launches_with_predicted_times(setup: Setup) -> None:
    address = setup.allocate(1024)
    setup.launch(address)
    assert setup.board.activity.instructions == 0
    setup.board.predict()
    setup.launch(address, threads=64)
    one = setup.board.activity.instructions
    setup.launch(address, threads=64)
    assert setup.board.activity.instructions == 2 * one > 0
    assert set(KERNEL_COUNTS) < set(setup.board.activity.as_dict())


def test_what_a_program_did_is_reported_when_it_ends(setup: Setup) -> None:
    setup.copy(100, TO_HOST)
    setup.board.finish()
    told = reported(os.read(setup.reading, 4096))
    activity = told.activity
    assert told.findings == ()
    assert activity == setup.board.activity.as_dict()
    assert activity["to_host_bytes"] == 100


def test_a_function_fails_by_its_name_and_is_counted() -> None:
    board = Setup(VirtualGPU(memory=64 << 20, workers=1), fails={"cudaEventRecord": 2}).board
    assert board.record.tells_calls == 1
    called = [board.called(name) for name in (b"cudaEventRecord", b"cudaFree", b"cudaEventRecord", b"cudaFree")]
    assert called == [Status.SUCCESS, Status.SUCCESS, Status.UNKNOWN, Status.SUCCESS]
    assert functions_called(board.activity.as_dict()) == {"cudaEventRecord": 2, "cudaFree": 2}
    assert is_activity_name("calls_of_cudaFree")
    assert not is_activity_name("calls_of_cudaFried")


def test_calls_are_told_only_where_somebody_asks() -> None:
    assert Setup(VirtualGPU(memory=64 << 20, workers=1), fails={"copy": 2}).board.record.tells_calls == 0


@pytest.mark.parametrize("call", CALLS)
def test_a_call_of_that_number_fails_and_the_next_one_does_not(call: Call) -> None:
    setup = Setup(VirtualGPU(memory=64 << 20, workers=1), fails={call: 2})
    seen = []
    for _ in range(3):
        address = setup.allocate(64)
        copied = setup.copy(4, TO_DEVICE)
        launched = setup.launch(address or setup.allocate(64))
        seen.append({"allocation": address == 0, "copy": copied != 0, "launch": launched != 0,
                     "kernel": bool(setup.faults)}[call])  # fmt: skip
        setup.faults.clear()
    assert seen == [False, True, False]


@pytest.mark.parametrize("text", ["allocation", "allocation=0", "alloc=1", "kernel=-1", "copy=1.5", "=1"])
def test_a_failure_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="allocation, copy, launch, kernel"):
        failure(text)
