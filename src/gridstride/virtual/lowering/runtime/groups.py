"""Groups of a warp's lanes on fibers of their own, while they are inside a function that may wait.

A warp is one fiber, so while some of its lanes wait in a function, the others could not go on. Where both can happen,
the call goes to a fiber of its own: a copy of the warp's record with a stack, which the scheduler runs like any warp of
the block, and which hands its lanes back when the function returns.
"""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant
from gridstride.virtual.lowering.runtime.common import i32, i64, increment, warp_at
from gridstride.virtual.lowering.runtime.fibers import Processor
from gridstride.virtual.machine.layout import BLOCK, DONE, FAULT, LAUNCH, READY, SPLIT, SPLIT_BYTES, WARP, WORKER


def emit_groups(m: Module, processor: Processor, stack_margin: int) -> None:
    """gs_spawn, gs_join, gs_group_divergence."""
    _free_record(m)
    _spawn(m, processor, stack_margin)
    _join(m)
    _divergence(m)


def _free_record(m: Module) -> None:
    """A record of the slot that no group uses, or null where all are taken."""
    with m.function("ptr", "gs_group_record", "ptr block", "ptr launch", cold=True) as (b, (block, launch)):
        at = b.alloca("i32")
        b.store(b.get(launch, LAUNCH, "warps_per_block"), at)
        with b.loop() as done:
            number = b.load("i32", at)
            b.break_if(b.compare("uge", number, b.get(block, BLOCK, "warp_count")), done)
            record = warp_at(b, block, number)
            with b.if_(b.compare("eq", b.get(record, WARP, "state"), i32(DONE))):
                increment(b, b.field(block, BLOCK, "finished"), i32(-1))
                b.ret(record)
            b.store(b.op("add", number, i32(1)), at)
        number = b.get(block, BLOCK, "warp_count")
        with b.if_(b.compare("uge", number, b.get(launch, LAUNCH, "warps_per_slot"))):
            b.ret(Value("null", "ptr"))
        b.put(block, BLOCK, "warp_count", b.op("add", number, i32(1)))
        b.ret(warp_at(b, block, number))


def _spawn(m: Module, processor: Processor, stack_margin: int) -> None:
    """A fiber for some of a warp's lanes; the caller fills in what it is to run (SPLIT) before it gives way."""
    m.signatures["llvm.memcpy.p0.p0.i64"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    with m.function("ptr", "gs_spawn", "ptr warp", "i32 mask", "i32 site", cold=True) as (b, (warp, mask, site)):
        block, launch = b.get(warp, WARP, "block"), b.get(warp, WARP, "launch")
        group = b.call("ptr", "gs_group_record", block, launch)
        with b.if_(b.compare("eq", group, Value("null", "ptr"))):
            b.call("void", "gs_fault", warp, site, i32(FAULT["too_many_groups"]), mask, i64(0), i32(0))
        limit = b.get(group, WARP, "stack_limit")
        b.emit(f"call void @llvm.memcpy.p0.p0.i64(ptr {group.name}, ptr {warp.name}, i64 {WARP.size}, i1 false)")
        size = b.get(b.get(warp, WARP, "worker"), WORKER, "stack_size")
        top = b.op("add", limit, b.op("sub", size, i64(stack_margin + 64)))
        call = b.pointer(b.op("sub", top, i64(SPLIT_BYTES)))
        frame = b.pointer(b.op("sub", top, i64(SPLIT_BYTES + 256)))
        b.put(group, WARP, "stack_limit", limit)
        b.put(group, WARP, "split", call)
        b.put(group, WARP, "live", mask)
        b.put(group, WARP, "state", READY)
        b.put(group, WARP, "site", site)
        b.put(group, WARP, "sp", frame)
        b.store(group, b.offset(frame, processor.warp))
        b.emit(f"store ptr @gs_boot, ptr {b.offset(frame, processor.start).name}")
        b.put(call, SPLIT, "parent", warp)
        b.put(call, SPLIT, "mask", mask)
        b.ret(group)


def _join(m: Module) -> None:
    """Hands a group's lanes back to the function that called: those that ended in between are gone for good."""
    with m.function("void", "gs_join", "ptr group", cold=True) as (b, (group,)):
        call = b.get(group, WARP, "split")
        mask, live = b.get(call, SPLIT, "mask"), b.get(group, WARP, "live")
        parent, away, back = (b.get(call, SPLIT, name) for name in ("parent", "away", "back"))
        rest = b.op("xor", mask, i32(-1))
        b.store(b.op("and", b.load("i32", away), rest), away)
        b.store(b.op("or", b.load("i32", back), live), back)
        b.put(parent, WARP, "live", b.op("and", b.get(parent, WARP, "live"), b.op("or", rest, live)))
        b.put(group, WARP, "live", 0)
        increment(b, b.field(b.get(group, WARP, "block"), BLOCK, "epoch"))


def _divergence(m: Module) -> None:
    """Reports an aligned barrier that a group comes to while lanes of its warp are in another: on hardware all lanes of
    a warp must come together (an H200 hangs).
    """
    with m.function("void", "gs_group_divergence", "ptr warp", "i32 site", "i32 mask", cold=True) as (b, args):
        warp, site, mask = args
        at = b.alloca("ptr")
        b.store(warp, at)
        with b.loop() as found:
            split = b.get(b.load("ptr", at), WARP, "split")
            b.break_if(b.compare("eq", split, Value("null", "ptr")), found)
            b.store(b.get(split, SPLIT, "parent"), at)
        live = b.get(b.load("ptr", at), WARP, "live")
        missing = b.op("and", live, b.op("xor", mask, i32(-1)))
        grouped = b.compare("ne", b.get(warp, WARP, "split"), Value("null", "ptr"))
        with b.if_(b.op("and", grouped, b.compare("ne", missing, i32(0)))):
            mine, other = (b.call("i32", "llvm.cttz.i32", m_, constant("i1", True)) for m_ in (mask, missing))
            who = b.op("or", b.op("shl", b.get(warp, WARP, "warp"), i32(8)), other)
            b.call("void", "gs_report", warp, i32(FAULT["barrier_divergence"]), site, mine, site, who, i64(0))


def run_group(b: Builder, warp: Value) -> Value:
    """An i1: the fiber is a group's, whose function this has run."""
    call = b.get(warp, WARP, "split")
    split = b.compare("ne", call, Value("null", "ptr"))
    with b.if_(split):
        entry = b.get(call, SPLIT, "entry")
        b.emit(f"call void {entry.name}(ptr {warp.name})")
        b.call("void", "gs_join", warp)
    return split
