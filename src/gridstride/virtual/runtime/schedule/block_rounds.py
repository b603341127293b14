"""Rounds over the warps of a block: each runs until it waits, spins or ends."""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import DONE, LAUNCH, READY, SPINNING
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value
from gridstride.virtual.runtime.common import can_run, i32, increment, switch, warp_at
from gridstride.virtual.runtime.schedule.fibers import Processor
from gridstride.virtual.runtime.schedule.warp_fibers import store_first_frame

FINISHED, SPUN, STUCK = 0, 1, 2
"""What `gs_run_block` gives back."""


def emit_run_block(m: IrModule, processor: Processor) -> None:
    """gs_run_block: runs a block's warps round-robin until all are done or none can go on."""
    with m.function("i32", "gs_run_block", "worker* worker", "block* block") as (b, (worker, block)):
        launch = worker.launch
        one_stack = launch.shared_stacks != 0
        ran, spun = (b.alloca("i32") for _ in range(2))
        with b.loop() as done:
            block.cursor = 0
            for counter in (ran, spun):
                b.store(i32(0), counter)
            with b.loop() as round_over:
                cursor = block.cursor
                b.break_if(cursor >= block.warp_count, round_over)
                block.cursor = cursor + 1
                warp = warp_at(b, block, cursor)
                with b.if_(can_run(b, block, warp)):
                    warp.state = READY
                    with b.if_(one_stack):
                        # On their one stack the warps wrote their first frames over each other's: this one goes first.
                        store_first_frame(b, processor, warp, warp.sp)
                    switch(b, worker.field("scheduler"), warp.sp)
                    abort = b.get(launch, LAUNCH, "abort", volatile=True)
                    b.break_if(abort != 0, done)
                    b.break_if(one_stack, done)  # the others have run by now, and all have counted themselves
                    # Warps hand over to one another: the one that came back is the one before the cursor.
                    last = warp_at(b, block, block.cursor - 1)
                    state = last.state
                    with b.if_(state == DONE):
                        b.call("void", "gs_exit", last, i32(-1))
                        increment(b, block.field("finished"))
                    spinning = state == SPINNING
                    increment(b, spun, b.resize(spinning, "i32"))
                    increment(b, ran, b.resize(~spinning, "i32"))
            b.break_if(_all_finished(b, block), done)
            b.break_if(b.load("i32", ran) == 0, done)
        finished = _all_finished(b, block)
        waits = b.select(b.load("i32", spun) != 0, i32(SPUN), i32(STUCK))
        b.ret(b.select(finished, i32(FINISHED), waits))


def _all_finished(b: Builder, block: Record) -> Value:
    """An i1; the count is looked up each time, as warps may have split in groups."""
    return block.finished == block.warp_count
