"""Groups of a warp's lanes on fibers of their own, while they are inside a function that may wait.

A warp is one fiber, so while some of its lanes wait in a function, the others could not go on. Where both can happen,
the call goes to a fiber of its own: a copy of the warp's record with a stack, which the scheduler runs like any warp of
the block, and which hands its lanes back when the function returns.
"""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import DONE, READY, SPLIT, SPLIT_BYTES, WARP
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import i32, i64, increment, warp_at
from gridstride.virtual.runtime.schedule.fibers import Processor


def emit_groups(m: IrModule, processor: Processor, stack_margin: int) -> None:
    """gs_spawn, gs_join, gs_group_divergence."""
    _free_record(m)
    _spawn(m, processor, stack_margin)
    _join(m)
    _divergence(m)


def _free_record(m: IrModule) -> None:
    """A record of the slot that no group uses, or null where all are taken."""
    with m.function("ptr", "gs_group_record", "block* block", "launch* launch", cold=True) as (b, (block, launch)):
        at = b.alloca("i32")
        b.store(launch.warps_per_block, at)
        with b.loop() as done:
            number = b.load("i32", at)
            b.break_if(number >= block.warp_count, done)
            record = warp_at(b, block, number)
            with b.if_(record.state == DONE):
                increment(b, block.field("finished"), i32(-1))
                b.ret(record)
            b.store(number + 1, at)
        number = block.warp_count
        with b.if_(number >= launch.warps_per_slot):
            b.ret(NULL)
        block.warp_count = number + 1
        b.ret(warp_at(b, block, number))


def _spawn(m: IrModule, processor: Processor, stack_margin: int) -> None:
    """A fiber for some of a warp's lanes; the caller fills in what it is to run (SPLIT) before it gives way."""
    m.signatures["llvm.memcpy.p0.p0.i64"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    with m.function("ptr", "gs_spawn", "warp* warp", "i32 mask", "i32 site", cold=True) as (b, (warp, mask, site)):
        block, launch = warp.block, warp.launch
        group = b.record(b.call("ptr", "gs_group_record", block, launch), WARP)
        with b.if_(group == NULL):
            b.call("void", "gs_fault", warp, site, i32(FAULT["too_many_groups"]), mask, i64(0), i32(0))
        limit = group.stack_limit
        b.emit(f"call void @llvm.memcpy.p0.p0.i64(ptr {group.name}, ptr {warp.name}, i64 {WARP.size}, i1 false)")
        size = warp.worker.stack_size
        top = limit + (size - (stack_margin + 64))
        call = b.record(b.pointer(top - SPLIT_BYTES), SPLIT)
        frame = b.pointer(top - (SPLIT_BYTES + 256))
        group.stack_limit = limit
        group.split = call
        group.lane_epoch = 0
        group.live = mask
        group.state = READY
        group.site = site
        group.sp = frame
        b.store(group, b.offset(frame, processor.warp))
        b.emit(f"store ptr @gs_boot, ptr {b.offset(frame, processor.start).name}")
        call.parent = warp
        call.mask = mask
        b.ret(group)


def _join(m: IrModule) -> None:
    """Hands a group's lanes back to the function that called: those that ended in between are gone for good."""
    with m.function("void", "gs_join", "warp* group", cold=True) as (b, (group,)):
        call = group.split
        mask, live = call.mask, group.live
        parent, away, back = call.parent, call.away, call.back
        unspawned = ~mask
        b.store(b.load("i32", away) & unspawned, away)
        b.store(b.load("i32", back) | live, back)
        parent.live &= unspawned | live
        group.live = 0
        increment(b, group.block.field("epoch"))


def _divergence(m: IrModule) -> None:
    """Reports an aligned barrier that a group comes to while lanes of its warp are in another: on hardware all lanes of
    a warp must come together (an H200 hangs).
    """
    with m.function("void", "gs_group_divergence", "warp* warp", "i32 site", "i32 mask", cold=True) as (b, args):
        warp, site, mask = args
        at = b.alloca("ptr")
        b.store(warp, at)
        with b.loop() as position:
            split = b.record(b.load("ptr", at), WARP).split
            b.break_if(split == NULL, position)
            b.store(split.parent, at)
        live = b.record(b.load("ptr", at), WARP).live
        missing = live & ~mask
        grouped = warp.split != NULL
        with b.if_(grouped & (missing != 0)):
            mine, other = (b.call("i32", "llvm.cttz.i32", m_, constant("i1", True)) for m_ in (mask, missing))
            who = (warp.warp << 8) | other
            b.call("void", "gs_report", warp, i32(FAULT["barrier_divergence"]), site, mine, site, who, i64(0))


def run_group(b: Builder, warp: Record) -> Value:
    """An i1: the fiber is a group's, whose function this has run."""
    call = warp.split
    split = call != NULL
    with b.if_(split):
        entry = call.entry
        b.emit(f"call void {entry.name}(ptr {warp.name})")
        b.call("void", "gs_join", warp)
    return split
