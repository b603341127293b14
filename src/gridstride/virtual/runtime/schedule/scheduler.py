"""The block scheduler: warps as fibers, blocks in slots, workers that take blocks until none are left."""

from __future__ import annotations

from gridstride.virtual.abi.copy_queue import COPIES, QUEUE_BYTES
from gridstride.virtual.abi.execution_records import (
    BLOCK,
    DONE,
    LAUNCH,
    READY,
    SPINNING,
    TID_RECORD,
    WAITING,
    WARP,
    WORKER,
)
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.wgmma_flights import FLIGHT_BYTES, FLIGHTS
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import (
    block_in_turn,
    can_run,
    i32,
    i64,
    increment,
    is_observed,
    permuted,
    switch,
    to_scheduler,
    warp_at,
)
from gridstride.virtual.runtime.schedule.barriers import emit_barriers
from gridstride.virtual.runtime.schedule.fault_exits import emit_faults
from gridstride.virtual.runtime.schedule.fibers import Processor, module_assembly
from gridstride.virtual.runtime.schedule.groups import emit_groups, run_group
from gridstride.virtual.runtime.schedule.stalls import emit_stalls

FINISHED, SPUN, STUCK = 0, 1, 2
"""What `gs_run_block` gives back."""


def emit_scheduler(m: IrModule, processor: Processor) -> None:
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
    emit_stalls(m, STACK_MARGIN)
    _run(m)


# -- warps and blocks -------------------------------------------------------------------------------------------------
def _warp_main(m: IrModule) -> None:
    """A fiber's first function. Warps that never wait follow one another here: a switch would cost what they do."""
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


def _open_slot(m: IrModule) -> None:
    """Fills in what the warps of a slot keep from block to block: a worker does it once for each slot it uses."""
    with m.function("void", "gs_open_slot", "worker* worker", "i64 slot") as (b, (worker, slot)):
        launch = worker.launch
        count = b.resize(launch.warps_per_slot, "i64")
        last = b.resize(launch.warps_per_block, "i64") - 1
        block = worker.blocks[slot]
        shared = worker.shared + slot * worker.shared_stride
        first = slot * count
        warps = worker.warps[first]
        at = b.alloca("i64")
        b.store(i64(0), at)
        with b.loop() as done:
            w = b.load("i64", at)
            b.break_if(w >= count, done)
            warp = warps[w]
            warp.block = block
            warp.shared = shared
            number = _turn(b, launch, b.intrinsic("umin", w, last), last + 1)
            _open_warp(b, worker, launch, warp, first + w, number)
            b.store(w + 1, at)


def _turn(b: Builder, launch: Record, w: Value, count: Value) -> Value:
    """The number of the warp that has the w-th turn."""
    step, first, back = (b.resize(b.get(launch, LAUNCH, f"warp_{name}"), "i64") for name in ("step", "first", "back"))
    return permuted(b, w, count, step, first, back)


def _open_warp(b: Builder, worker: Record, launch: Record, warp: Record, number: Value, w: Value) -> None:
    """`number` counts the worker's warps, `w` the block's."""
    # Kernels that never wait run their warps one after the other on one stack.
    one = launch.shared_stacks != 0
    stack = b.select(one, i64(0), number) * worker.stack_size
    bottom = worker.stacks + stack
    warp.stack_limit = bottom + STACK_MARGIN
    for name in ("launch", "sites", "counters"):
        b.put(warp, WARP, name, b.get(worker, WORKER, name))
    for name in ("params", "table", "shared_size", "unset", "unset_low", "unset_span"):
        b.put(warp, WARP, name, b.get(launch, LAUNCH, name))
    warp.worker = worker
    local = number * worker.local_stride
    warp.local = worker.local + local
    tids = b.offset(launch.tids, w * TID_RECORD)
    warp.tids = tids
    warp.mask = b.load("i32", b.offset(tids, 3 * 4 * LANES))
    warp.warp = b.resize(w, "i32")
    for name, size in (("copies", QUEUE_BYTES), ("wgmma", FLIGHT_BYTES)):
        queues = b.get(worker, WORKER, name)
        own = b.offset(queues, number * size)
        b.put(warp, WARP, name, b.select(queues != NULL, own, NULL))
    for axis in range(3):
        warp.tid[axis] = b.load("i32", b.offset(tids, 4 * LANES * axis))
        warp.ntid[axis] = launch.ntid[axis]
        warp.nctaid[axis] = launch.grid[axis]


def _start_block(m: IrModule, processor: Processor) -> None:
    """Fills in an open slot's block and warps for the block with the given linear index."""
    with m.function("void", "gs_start_block", "worker* worker", "block* block", "i64 index", "i64 slot") as (
        b,
        (worker, block, index, slot),
    ):
        launch = worker.launch
        count = launch.warps_per_block
        x, y = (b.resize(launch.grid[axis], "i64") for axis in range(2))
        row = index // x
        place = (index % x, row % y, row // y)
        ctaid = [b.resize(p, "i32") for p in place]
        first = slot * b.resize(launch.warps_per_slot, "i64")
        warps = worker.warps[first]
        b.emit(f"call void @llvm.memset.p0.i64(ptr {block.name}, i8 0, i64 {BLOCK.size}, i1 false)")
        m.signatures["llvm.memset.p0.i64"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
        block.warps = warps
        block.shared = warps.shared
        block.threads = launch.threads_per_block
        block.warp_count = count
        block.active = 1
        block.index = index
        for axis in range(3):
            block.ctaid[axis] = ctaid[axis]
        # Of clusters whole ones are observed.
        alone = launch.cluster_size == 0
        which = b.select(alone, index, worker.taken)
        observed = _observe_block(b, worker, block, launch, which, slot)
        room = worker.stack_size - (STACK_MARGIN + 64 + processor.save)
        at = b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            w = b.load("i32", at)
            b.break_if(w >= count, done)
            warp = warp_at(b, block, w)
            frame = b.pointer(warp.stack_limit + room)
            _first_frame(b, processor, warp, frame)
            warp.sp = frame
            for axis in range(3):
                warp.ctaid[axis] = ctaid[axis]
            warp.live = warp.mask
            warp.state = READY
            warp.site = 0xFFFFFFFF
            warp.observed = observed
            warp.polled = 0
            warp.tries = 0
            warp.lane_epoch = 1
            _unset_local(b, worker, warp, first + b.resize(w, "i64"), observed)
            warp.cluster_arrived = 0
            wgmma = "<4 x i32>"  # all four counters of wgmma
            b.store(constant(wgmma, 0), warp.field("wgmma_inside"), align=4)
            for name, size in (("copies", COPIES.size), ("wgmma", FLIGHTS.size)):
                account = b.get(warp, WARP, name)
                with b.if_(account != NULL):
                    b.emit(f"call void @llvm.memset.p0.i64(ptr {account.name}, i8 0, i64 {size}, i1 false)")
            b.store(w + 1, at)


def _unset_local(b: Builder, worker: Record, warp: Record, number: Value, observed: Value) -> None:
    """An observed warp starts with local memory that nothing has written."""
    shadow, stride = worker.local_unset, worker.local_stride
    own = shadow + number * stride
    watched = (observed != 0) & (shadow != 0)
    own = b.select(watched, own, i64(0))
    warp.local_unset = own
    with b.if_(watched):
        b.emit(f"call void @llvm.memset.p0.i64(ptr {b.pointer(own).name}, i8 1, {stride!r}, i1 false)")


def _observe_block(b: Builder, worker: Record, block: Record, launch: Record, index: Value, slot: Value) -> Value:
    """1 where this block is one of those counted."""
    chosen = is_observed(b, launch, index)
    with b.if_(chosen):
        race = worker.race
        with b.if_(race != NULL):
            mine = b.offset(race, slot * worker.race_stride)
            block.race = mine
            b.call("void", "gs_race_begin", mine, launch.shadow, index)
            lanes, two = worker.lanes, launch.lanes_watched
            block.lanes = NULL
            watched = (launch.lanes_all != 0) | (index == two[0]) | (index == two[1])
            with b.if_(watched & (lanes != NULL)):
                own = b.offset(lanes, slot * worker.lanes_stride)
                block.lanes = own
                b.call("void", "gs_lanes_begin", own)
            # Shared memory holds anything when a block starts; here it is NaN, which shows in whatever it is used for.
            start, size = b.pointer(block.shared), launch.shared_size
            b.emit(f"call void @llvm.memset.p0.i64(ptr {start.name}, i8 -1, i64 {size.name}, i1 false)")
    return b.resize(chosen, "i32")


def _first_frame(b: Builder, processor: Processor, warp: Record, frame: Value) -> None:
    """What the first switch to a warp finds on its stack."""
    b.store(warp, b.offset(frame, processor.warp))
    b.emit(f"store ptr @gs_boot, ptr {b.offset(frame, processor.start).name}")


STACK_MARGIN = 128 << 10
"""Bytes of a stack that a function must find free when it is called: its frame has to fit."""


def _run_block(m: IrModule, processor: Processor) -> None:
    """Runs a block's warps round-robin until all are done or none can go on."""
    with m.function("i32", "gs_run_block", "worker* worker", "block* block") as (b, (worker, block)):
        launch = worker.launch
        alone = launch.shared_stacks != 0
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
                    with b.if_(alone):
                        # On their one stack the warps wrote their first frames over each other's: this one goes first.
                        _first_frame(b, processor, warp, warp.sp)
                    switch(b, worker.field("scheduler"), warp.sp)
                    abort = b.get(launch, LAUNCH, "abort", volatile=True)
                    b.break_if(abort != 0, done)
                    b.break_if(alone, done)  # the others have run by now, and all have counted themselves
                    # Warps hand over to one another: the one that came back is the one before the cursor.
                    back = warp_at(b, block, block.cursor - 1)
                    state = back.state
                    with b.if_(state == DONE):
                        b.call("void", "gs_exit", back, i32(-1))
                        increment(b, block.field("finished"))
                    spinning = state == SPINNING
                    increment(b, spun, b.resize(spinning, "i32"))
                    increment(b, ran, b.resize(~spinning, "i32"))
            b.break_if(_all_finished(b, block), done)
            b.break_if(b.load("i32", ran) == 0, done)
        over = _all_finished(b, block)
        waits = b.select(b.load("i32", spun) != 0, i32(SPUN), i32(STUCK))
        b.ret(b.select(over, i32(FINISHED), waits))


def _all_finished(b: Builder, block: Record) -> Value:
    """An i1; the count is looked up each time, as warps may have split in groups."""
    return block.finished == block.warp_count


def _run(m: IrModule) -> None:
    """One worker: takes blocks until none are left; opens another slot only when those it has are spinning, or all at
    once where blocks advance in step.
    """
    with m.function("void", "gs_run", "worker* worker") as (b, (worker,)):
        launch, blocks = worker.launch, worker.blocks
        with b.if_(launch.cluster_size != 0):
            b.call("void", "gs_run_clusters", worker)
            b.ret()
        total, slots = launch.blocks, b.resize(worker.slots, "i64")
        open_slots, at, live, spun = (b.alloca("i64") for _ in range(4))
        b.store(i64(1), open_slots)
        for name in ("row", "row_end", "stall_rounds", "stall_since", "stall_times"):
            b.put(worker, WORKER, name, 0)
        b.call("void", "gs_open_slot", worker, i64(0))
        _open_for_step(b, worker, launch, open_slots, slots)
        with b.loop() as done:
            for counter in (at, live, spun):
                b.store(i64(0), counter)
            with b.loop() as round_over:
                abort = b.get(launch, LAUNCH, "abort", volatile=True)
                b.break_if(abort != 0, done)
                slot = b.load("i64", at)
                b.break_if(slot >= b.load("i64", open_slots), round_over)
                b.store(slot + 1, at)
                block = blocks[slot]
                _take(b, worker, launch, block, slot, total)
                with b.if_(block.active != 0):
                    b.store(b.load("i64", live) + 1, live)
                    result = b.call("i32", "gs_run_block", worker, block)
                    abort = b.get(launch, LAUNCH, "abort", volatile=True)
                    b.break_if(abort != 0, done)
                    with b.if_(result == FINISHED):
                        block.active = 0
                    with b.if_(result == SPUN):
                        b.store(b.load("i64", spun) + 1, spun)
                    with b.if_(result == STUCK):
                        b.call("void", "gs_deadlock", block)
            b.break_if(b.load("i64", live) == 0, done)
            many = b.load("i64", open_slots)
            more = (b.load("i64", spun) != 0) & (many < slots)
            with b.if_(more):
                b.call("void", "gs_open_slot", worker, many)
                b.store(many + 1, open_slots)
            all_wait = b.load("i64", spun) == b.load("i64", live)
            watched = launch.alone_on_device != 0
            nobody_new = ~more
            with b.if_(watched & (all_wait & nobody_new)):
                b.call("void", "gs_stalled", worker, many)
    with m.function("void", "gs_deadlock", "block* block", cold=True) as (b, (block,)):
        # The first warp that still waits stands for the block; Python reads the others from the block itself.
        warps, at = block.warps, b.alloca("i64")
        b.store(i64(0), at)
        with b.loop() as found:
            warp = warps[b.load("i64", at)]
            b.break_if(warp.state == WAITING, found)
            b.store(b.load("i64", at) + 1, at)
        warp = warps[b.load("i64", at)]
        live, site = warp.live, warp.site
        b.call("void", "gs_record", warp, site, i32(FAULT["deadlock"]), live, i64(0), i32(0), i32(0))


def _open_for_step(b: Builder, worker: Record, launch: Record, open_slots: Value, slots: Value) -> None:
    """Opens every slot where blocks advance in step: those that came later would be behind for good."""
    with b.loop() as opened:
        many = b.load("i64", open_slots)
        b.break_if((launch.in_step == 0) | (many >= slots), opened)
        b.call("void", "gs_open_slot", worker, many)
        b.store(many + 1, open_slots)


def _take(b: Builder, worker: Record, launch: Record, block: Record, slot: Value, total: Value) -> None:
    """Gives an idle slot the next block of the grid, if there is one."""
    with b.if_(block.active == 0):
        with b.if_(worker.row >= worker.row_end):
            # Some blocks in a row at a time: cores that took turns would each fetch the other's memory ahead too.
            counter, many = launch.field("next"), launch.in_a_row
            first = b.define("i64", f"atomicrmw add ptr {counter.name}, i64 {many.name} seq_cst")
            worker.row = first
            worker.row_end = b.intrinsic("umin", first + many, total)
        index = worker.row
        worker.row = index + 1
        with b.if_(index < total):
            b.call("void", "gs_start_block", worker, block, block_in_turn(b, launch, index, total), slot)
