"""Warps as fibers: a warp's first function, and the frame that the first switch to it finds."""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import DONE, LAUNCH, WARP
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value
from gridstride.virtual.runtime.common import increment, to_scheduler
from gridstride.virtual.runtime.schedule.fibers import Processor
from gridstride.virtual.runtime.schedule.groups import run_group

STACK_MARGIN = 128 << 10
"""Bytes of a stack that a function must find free when it is called: its frame has to fit."""


def emit_warp_main(m: IrModule) -> None:
    """gs_warp_main: a fiber's first function. Warps that never wait follow one another here: a switch would cost what
    they do.
    """
    with m.function("void", "gs_warp_main", "warp* warp") as (b, (first,)):
        launch, block = first.launch, first.block
        entry, count = launch.entry, block.warp_count
        waits = launch.shared_stacks == 0
        at = b.alloca("ptr")
        b.store(first, at)
        with b.if_(run_group(b, first)):
            first.state = DONE
            to_scheduler(b, first)
        with b.loop() as done:
            warp = b.record(b.load("ptr", at), WARP)
            b.call("void", "gs_start_late", warp)
            b.emit(f"call void {entry.name}(ptr {warp.name})")
            warp.state = DONE
            b.call("void", "gs_copies_end", warp)
            b.call("void", "gs_wgmma_end", warp)
            with b.if_(block.warpgroups != 0):
                increment(b, block.field("epoch"))
            b.break_if(waits, done)
            increment(b, block.field("finished"))
            b.break_if(block.finished >= count, done)
            b.break_if(b.get(launch, LAUNCH, "abort", volatile=True) != 0, done)
            b.store(warp[1], at)
        to_scheduler(b, first)
        b.unreachable()


def store_first_frame(b: Builder, processor: Processor, warp: Record, frame: Value) -> None:
    """What the first switch to a warp finds on its stack."""
    b.store(warp, b.offset(frame, processor.warp))
    b.emit(f"store ptr @gs_boot, ptr {b.offset(frame, processor.start).name}")
