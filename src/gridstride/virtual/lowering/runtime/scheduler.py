"""The block scheduler: warps as fibers, blocks in slots, workers that take blocks until none are left."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant
from gridstride.virtual.lowering.runtime.barriers import emit_barriers
from gridstride.virtual.lowering.runtime.common import can_run, i32, i64, increment, switch, to_scheduler, warp_at
from gridstride.virtual.lowering.runtime.faults import emit_faults
from gridstride.virtual.lowering.runtime.fibers import Processor, module_assembly
from gridstride.virtual.lowering.runtime.groups import emit_groups, run_group
from gridstride.virtual.machine.layout import (
    BLOCK,
    COPIES,
    DONE,
    FAULT,
    FLIGHT_BYTES,
    FLIGHTS,
    LANES,
    LAUNCH,
    QUEUE_BYTES,
    READY,
    SPINNING,
    WAITING,
    WARP,
    WORKER,
)

FINISHED, SPUN, STUCK = 0, 1, 2
"""What `gs_run_block` gives back."""


def emit_scheduler(m: Module, processor: Processor) -> None:
    """Everything a kernel's code calls that is not about memory."""
    m.preamble += module_assembly(processor)
    m.signatures["gs_boot"] = "declare void @gs_boot()"
    emit_faults(m)
    emit_barriers(m)
    emit_groups(m, processor, STACK_MARGIN)
    _warp_main(m)
    _open_slot(m)
    _start_block(m, processor)
    _run_block(m, processor)
    _run(m)


# -- warps and blocks -------------------------------------------------------------------------------------------------
def _warp_main(m: Module) -> None:
    """A fiber's first function. Warps that never wait follow one another here: a switch would cost what they do."""
    with m.function("void", "gs_warp_main", "ptr warp") as (b, (first,)):
        launch, block = b.get(first, WARP, "launch"), b.get(first, WARP, "block")
        entry, count = b.get(launch, LAUNCH, "entry"), b.get(block, BLOCK, "warp_count")
        waits = b.compare("eq", b.get(launch, LAUNCH, "shared_stacks"), i32(0))
        at = b.alloca("ptr")
        b.store(first, at)
        with b.if_(run_group(b, first)):
            b.put(first, WARP, "state", DONE)
            to_scheduler(b, first)
        with b.loop() as done:
            warp = b.load("ptr", at)
            b.emit(f"call void {entry.name}(ptr {warp.name})")
            b.put(warp, WARP, "state", DONE)
            b.call("void", "gs_copies_end", warp)
            b.call("void", "gs_wgmma_end", warp)
            b.break_if(waits, done)
            increment(b, b.field(block, BLOCK, "finished"))
            b.break_if(b.compare("uge", b.get(block, BLOCK, "finished"), count), done)
            b.break_if(b.compare("ne", b.get(launch, LAUNCH, "abort", volatile=True), i32(0)), done)
            b.store(b.offset(warp, i64(WARP.size)), at)
        to_scheduler(b, first)
        b.unreachable()


def _open_slot(m: Module) -> None:
    """Fills in what the warps of a slot keep from block to block: a worker does it once for each slot it uses."""
    with m.function("void", "gs_open_slot", "ptr worker", "i64 slot") as (b, (worker, slot)):
        launch = b.get(worker, WORKER, "launch")
        count = b.resize(b.get(launch, LAUNCH, "warps_per_slot"), "i64")
        last = b.op("sub", b.resize(b.get(launch, LAUNCH, "warps_per_block"), "i64"), i64(1))
        block = b.offset(b.get(worker, WORKER, "blocks"), b.op("mul", slot, i64(BLOCK.size)))
        shared = b.op("add", b.get(worker, WORKER, "shared"), b.op("mul", slot, b.get(worker, WORKER, "shared_stride")))
        first = b.op("mul", slot, count)
        warps = b.offset(b.get(worker, WORKER, "warps"), b.op("mul", first, i64(WARP.size)))
        at = b.alloca("i64")
        b.store(i64(0), at)
        with b.loop() as done:
            w = b.load("i64", at)
            b.break_if(b.compare("uge", w, count), done)
            warp = b.offset(warps, b.op("mul", w, i64(WARP.size)))
            b.put(warp, WARP, "block", block)
            b.put(warp, WARP, "shared", shared)
            number = _turn(b, launch, b.intrinsic("umin", w, last), b.op("add", last, i64(1)))
            _open_warp(b, worker, launch, warp, b.op("add", first, w), number)
            b.store(b.op("add", w, i64(1)), at)


def _turn(b: Builder, launch: Value, w: Value, count: Value) -> Value:
    """The number of the warp that has the w-th turn."""
    moved = b.op("urem", b.op("add", w, b.resize(b.get(launch, LAUNCH, "shift"), "i64")), count)
    back = b.op("sub", b.op("sub", count, i64(1)), moved)
    return b.select(b.compare("ne", b.get(launch, LAUNCH, "reversed"), i32(0)), back, moved)


def _open_warp(b: Builder, worker: Value, launch: Value, warp: Value, number: Value, w: Value) -> None:
    """`number` counts the worker's warps, `w` the block's."""
    # Kernels that never wait run their warps one after the other on one stack.
    one = b.compare("ne", b.get(launch, LAUNCH, "shared_stacks"), i32(0))
    stack = b.op("mul", b.select(one, i64(0), number), b.get(worker, WORKER, "stack_size"))
    bottom = b.op("add", b.get(worker, WORKER, "stacks"), stack)
    b.put(warp, WARP, "stack_limit", b.op("add", bottom, i64(STACK_MARGIN)))
    for name in ("launch", "sites", "counters"):
        b.put(warp, WARP, name, b.get(worker, WORKER, name))
    for name in ("params", "table", "shared_size", "unset", "unset_low", "unset_span"):
        b.put(warp, WARP, name, b.get(launch, LAUNCH, name))
    b.put(warp, WARP, "worker", worker)
    local = b.op("mul", number, b.get(worker, WORKER, "local_stride"))
    b.put(warp, WARP, "local", b.op("add", b.get(worker, WORKER, "local"), local))
    tids = b.offset(b.get(launch, LAUNCH, "tids"), b.op("mul", w, i64(TID_RECORD)))
    b.put(warp, WARP, "tids", tids)
    b.put(warp, WARP, "mask", b.load("i32", b.offset(tids, 3 * 4 * LANES)))
    b.put(warp, WARP, "warp", b.resize(w, "i32"))
    null = Value("null", "ptr")
    for name, size in (("copies", QUEUE_BYTES), ("wgmma", FLIGHT_BYTES)):
        queues = b.get(worker, WORKER, name)
        own = b.offset(queues, b.op("mul", number, i64(size)))
        b.put(warp, WARP, name, b.select(b.compare("ne", queues, null), own, null))
    for axis in range(3):
        b.put(warp, WARP, "tid", b.load("i32", b.offset(tids, 4 * LANES * axis)), axis)
        b.put(warp, WARP, "ntid", b.get(launch, LAUNCH, "ntid", axis), axis)
        b.put(warp, WARP, "nctaid", b.get(launch, LAUNCH, "grid", axis), axis)


def _start_block(m: Module, processor: Processor) -> None:
    """Fills in an open slot's block and warps for the block with the given linear index."""
    with m.function("void", "gs_start_block", "ptr worker", "ptr block", "i64 index", "i64 slot") as (
        b,
        (worker, block, index, slot),
    ):
        launch = b.get(worker, WORKER, "launch")
        count = b.get(launch, LAUNCH, "warps_per_block")
        x, y = (b.resize(b.get(launch, LAUNCH, "grid", axis), "i64") for axis in range(2))
        row = b.op("udiv", index, x)
        place = (b.op("urem", index, x), b.op("urem", row, y), b.op("udiv", row, y))
        ctaid = [b.resize(p, "i32") for p in place]
        first = b.op("mul", slot, b.resize(b.get(launch, LAUNCH, "warps_per_slot"), "i64"))
        warps = b.offset(b.get(worker, WORKER, "warps"), b.op("mul", first, i64(WARP.size)))
        b.emit(f"call void @llvm.memset.p0.i64(ptr {block.name}, i8 0, i64 {BLOCK.size}, i1 false)")
        m.signatures["llvm.memset.p0.i64"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
        b.put(block, BLOCK, "warps", warps)
        b.put(block, BLOCK, "shared", b.get(warps, WARP, "shared"))
        b.put(block, BLOCK, "threads", b.get(launch, LAUNCH, "threads_per_block"))
        b.put(block, BLOCK, "warp_count", count)
        b.put(block, BLOCK, "active", 1)
        b.put(block, BLOCK, "index", index)
        for axis in range(3):
            b.put(block, BLOCK, "ctaid", ctaid[axis], axis)
        # Of clusters whole ones are observed.
        alone = b.compare("eq", b.get(launch, LAUNCH, "cluster_size"), i32(0))
        which = b.select(alone, index, b.get(worker, WORKER, "taken"))
        observed = _observe_block(b, worker, block, launch, which, slot)
        room = b.op("sub", b.get(worker, WORKER, "stack_size"), i64(STACK_MARGIN + 64 + processor.save))
        at = b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            w = b.load("i32", at)
            b.break_if(b.compare("uge", w, count), done)
            warp = warp_at(b, block, w)
            frame = b.pointer(b.op("add", b.get(warp, WARP, "stack_limit"), room))
            _first_frame(b, processor, warp, frame)
            b.put(warp, WARP, "sp", frame)
            for axis in range(3):
                b.put(warp, WARP, "ctaid", ctaid[axis], axis)
            b.put(warp, WARP, "live", b.get(warp, WARP, "mask"))
            b.put(warp, WARP, "state", READY)
            b.put(warp, WARP, "site", 0xFFFFFFFF)
            b.put(warp, WARP, "observed", observed)
            b.put(warp, WARP, "polled", 0)
            _unset_local(b, worker, warp, b.op("add", first, b.resize(w, "i64")), observed)
            b.put(warp, WARP, "cluster_arrived", 0)
            for name, size in (("copies", COPIES.size), ("wgmma", FLIGHTS.size)):
                account = b.get(warp, WARP, name)
                with b.if_(b.compare("ne", account, Value("null", "ptr"))):
                    b.emit(f"call void @llvm.memset.p0.i64(ptr {account.name}, i8 0, i64 {size}, i1 false)")
            b.store(b.op("add", w, i32(1)), at)


def _unset_local(b: Builder, worker: Value, warp: Value, number: Value, observed: Value) -> None:
    """An observed warp starts with local memory that nothing has written."""
    shadow, stride = b.get(worker, WORKER, "local_unset"), b.get(worker, WORKER, "local_stride")
    own = b.op("add", shadow, b.op("mul", number, stride))
    watched = b.op("and", b.compare("ne", observed, i32(0)), b.compare("ne", shadow, i64(0)))
    own = b.select(watched, own, i64(0))
    b.put(warp, WARP, "local_unset", own)
    with b.if_(watched):
        b.emit(f"call void @llvm.memset.p0.i64(ptr {b.pointer(own).name}, i8 1, {stride!r}, i1 false)")


def _observe_block(b: Builder, worker: Value, block: Value, launch: Value, index: Value, slot: Value) -> Value:
    """1 where this block is one of those counted: every `sample`-th, none where that is 0."""
    every = b.resize(b.get(launch, LAUNCH, "sample"), "i64")
    some = b.intrinsic("umax", every, i64(1))
    chosen = b.compare("eq", b.op("urem", index, some), i64(0))
    chosen = b.op("and", chosen, b.compare("ne", every, i64(0)))
    with b.if_(chosen):
        race = b.get(worker, WORKER, "race")
        with b.if_(b.compare("ne", race, Value("null", "ptr"))):
            mine = b.offset(race, b.op("mul", slot, b.get(worker, WORKER, "race_stride")))
            b.put(block, BLOCK, "race", mine)
            b.call("void", "gs_race_begin", mine, b.get(launch, LAUNCH, "shadow"), index)
            lanes, most = b.get(worker, WORKER, "lanes"), b.get(launch, LAUNCH, "lanes_blocks")
            b.put(block, BLOCK, "lanes", 0)
            watched = b.compare("ult", b.op("udiv", index, some), most)
            with b.if_(b.op("and", watched, b.compare("ne", lanes, Value("null", "ptr")))):
                own = b.offset(lanes, b.op("mul", slot, b.get(worker, WORKER, "lanes_stride")))
                b.put(block, BLOCK, "lanes", own)
                b.call("void", "gs_lanes_begin", own)
            # Shared memory holds anything when a block starts; here it is NaN, which shows in whatever it is used for.
            start, size = b.pointer(b.get(block, BLOCK, "shared")), b.get(launch, LAUNCH, "shared_size")
            b.emit(f"call void @llvm.memset.p0.i64(ptr {start.name}, i8 -1, i64 {size.name}, i1 false)")
    return b.resize(chosen, "i32")


def _first_frame(b: Builder, processor: Processor, warp: Value, frame: Value) -> None:
    """What the first switch to a warp finds on its stack."""
    b.store(warp, b.offset(frame, processor.warp))
    b.emit(f"store ptr @gs_boot, ptr {b.offset(frame, processor.start).name}")


STACK_MARGIN = 128 << 10
"""Bytes of a stack that a function must find free when it is called: its frame has to fit."""

TID_RECORD = 4 * LANES * 4
"""Bytes per warp in the table that `LAUNCH.tids` points at: x, y and z of every lane, then the mask of lanes."""


def _run_block(m: Module, processor: Processor) -> None:
    """Runs a block's warps round-robin until all are done or none can go on."""
    with m.function("i32", "gs_run_block", "ptr worker", "ptr block") as (b, (worker, block)):
        launch = b.get(worker, WORKER, "launch")
        alone = b.compare("ne", b.get(launch, LAUNCH, "shared_stacks"), i32(0))
        ran, spun = (b.alloca("i32") for _ in range(2))
        with b.loop() as done:
            b.put(block, BLOCK, "cursor", 0)
            for counter in (ran, spun):
                b.store(i32(0), counter)
            with b.loop() as round_over:
                cursor = b.get(block, BLOCK, "cursor")
                b.break_if(b.compare("uge", cursor, b.get(block, BLOCK, "warp_count")), round_over)
                b.put(block, BLOCK, "cursor", b.op("add", cursor, i32(1)))
                warp = warp_at(b, block, cursor)
                with b.if_(can_run(b, block, warp)):
                    b.put(warp, WARP, "state", READY)
                    with b.if_(alone):
                        # On their one stack the warps wrote their first frames over each other's: this one goes first.
                        _first_frame(b, processor, warp, b.get(warp, WARP, "sp"))
                    switch(b, b.field(worker, WORKER, "scheduler"), b.get(warp, WARP, "sp"))
                    abort = b.get(launch, LAUNCH, "abort", volatile=True)
                    b.break_if(b.compare("ne", abort, i32(0)), done)
                    b.break_if(alone, done)  # the others have run by now, and all have counted themselves
                    # Warps hand over to one another: the one that came back is the one before the cursor.
                    back = warp_at(b, block, b.op("sub", b.get(block, BLOCK, "cursor"), i32(1)))
                    state = b.get(back, WARP, "state")
                    with b.if_(b.compare("eq", state, i32(DONE))):
                        b.call("void", "gs_exit", back, i32(-1))
                        increment(b, b.field(block, BLOCK, "finished"))
                    spinning = b.compare("eq", state, i32(SPINNING))
                    increment(b, spun, b.resize(spinning, "i32"))
                    increment(b, ran, b.resize(b.op("xor", spinning, constant("i1", True)), "i32"))
            b.break_if(_all_finished(b, block), done)
            b.break_if(b.compare("eq", b.load("i32", ran), i32(0)), done)
        over = _all_finished(b, block)
        waits = b.select(b.compare("ne", b.load("i32", spun), i32(0)), i32(SPUN), i32(STUCK))
        b.ret(b.select(over, i32(FINISHED), waits))


def _all_finished(b: Builder, block: Value) -> Value:
    """An i1; the count is looked up each time, as warps may have split in groups."""
    return b.compare("eq", b.get(block, BLOCK, "finished"), b.get(block, BLOCK, "warp_count"))


def _run(m: Module) -> None:
    """One worker: takes blocks until none are left; opens another slot only when those it has are spinning."""
    with m.function("void", "gs_run", "ptr worker") as (b, (worker,)):
        launch, blocks = b.get(worker, WORKER, "launch"), b.get(worker, WORKER, "blocks")
        with b.if_(b.compare("ne", b.get(launch, LAUNCH, "cluster_size"), i32(0))):
            b.call("void", "gs_run_clusters", worker)
            b.ret()
        total, slots = b.get(launch, LAUNCH, "blocks"), b.resize(b.get(worker, WORKER, "slots"), "i64")
        open_slots, at, live, spun = (b.alloca("i64") for _ in range(4))
        b.store(i64(1), open_slots)
        for name in ("row", "row_end"):
            b.put(worker, WORKER, name, 0)
        b.call("void", "gs_open_slot", worker, i64(0))
        with b.loop() as done:
            for counter in (at, live, spun):
                b.store(i64(0), counter)
            with b.loop() as round_over:
                abort = b.get(launch, LAUNCH, "abort", volatile=True)
                b.break_if(b.compare("ne", abort, i32(0)), done)
                slot = b.load("i64", at)
                b.break_if(b.compare("uge", slot, b.load("i64", open_slots)), round_over)
                b.store(b.op("add", slot, i64(1)), at)
                block = b.offset(blocks, b.op("mul", slot, i64(BLOCK.size)))
                _take(b, worker, launch, block, slot, total)
                with b.if_(b.compare("ne", b.get(block, BLOCK, "active"), i32(0))):
                    b.store(b.op("add", b.load("i64", live), i64(1)), live)
                    result = b.call("i32", "gs_run_block", worker, block)
                    abort = b.get(launch, LAUNCH, "abort", volatile=True)
                    b.break_if(b.compare("ne", abort, i32(0)), done)
                    with b.if_(b.compare("eq", result, i32(FINISHED))):
                        b.put(block, BLOCK, "active", 0)
                    with b.if_(b.compare("eq", result, i32(SPUN))):
                        b.store(b.op("add", b.load("i64", spun), i64(1)), spun)
                    with b.if_(b.compare("eq", result, i32(STUCK))):
                        b.call("void", "gs_deadlock", block)
            b.break_if(b.compare("eq", b.load("i64", live), i64(0)), done)
            many = b.load("i64", open_slots)
            more = b.op("and", b.compare("ne", b.load("i64", spun), i64(0)), b.compare("ult", many, slots))
            with b.if_(more):
                b.call("void", "gs_open_slot", worker, many)
                b.store(b.op("add", many, i64(1)), open_slots)
    with m.function("void", "gs_deadlock", "ptr block", cold=True) as (b, (block,)):
        # The first warp that still waits stands for the block; Python reads the others from the block itself.
        warps, at = b.get(block, BLOCK, "warps"), b.alloca("i64")
        b.store(i64(0), at)
        with b.loop() as found:
            warp = b.offset(warps, b.op("mul", b.load("i64", at), i64(WARP.size)))
            b.break_if(b.compare("eq", b.get(warp, WARP, "state"), i32(WAITING)), found)
            b.store(b.op("add", b.load("i64", at), i64(1)), at)
        warp = b.offset(warps, b.op("mul", b.load("i64", at), i64(WARP.size)))
        live, site = b.get(warp, WARP, "live"), b.get(warp, WARP, "site")
        b.call("void", "gs_record", warp, site, i32(FAULT["deadlock"]), live, i64(0), i32(0), i32(0))


def _take(b: Builder, worker: Value, launch: Value, block: Value, slot: Value, total: Value) -> None:
    """Gives an idle slot the next block of the grid, if there is one."""
    with b.if_(b.compare("eq", b.get(block, BLOCK, "active"), i32(0))):
        with b.if_(b.compare("uge", b.get(worker, WORKER, "row"), b.get(worker, WORKER, "row_end"))):
            # Some blocks in a row at a time: cores that took turns would each fetch the other's memory ahead too.
            counter, many = b.field(launch, LAUNCH, "next"), b.get(launch, LAUNCH, "in_a_row")
            first = b.define("i64", f"atomicrmw add ptr {counter.name}, i64 {many.name} seq_cst")
            b.put(worker, WORKER, "row", first)
            b.put(worker, WORKER, "row_end", b.intrinsic("umin", b.op("add", first, many), total))
        index = b.get(worker, WORKER, "row")
        b.put(worker, WORKER, "row", b.op("add", index, i64(1)))
        with b.if_(b.compare("ult", index, total)):
            b.call("void", "gs_start_block", worker, block, index, slot)
