"""Slots of a worker: what their warps keep from block to block, and the start of a block in one."""

from __future__ import annotations

from gridstride.virtual.abi.copy_queue import COPIES, QUEUE_BYTES
from gridstride.virtual.abi.execution_records import BLOCK, LAUNCH, READY, TID_RECORD, WARP, WORKER
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.wgmma_flights import FLIGHT_BYTES, FLIGHTS
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import i32, i64, is_observed, permuted, warp_at
from gridstride.virtual.runtime.schedule.fibers import Processor
from gridstride.virtual.runtime.schedule.warp_fibers import STACK_MARGIN, store_first_frame


def emit_open_slot(m: IrModule) -> None:
    """gs_open_slot: fills in what the warps of a slot keep from block to block; a worker does it once for each slot."""
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
            number = _warp_in_turn(b, launch, b.intrinsic("umin", w, last), last + 1)
            _open_warp(b, worker, launch, warp, first + w, number)
            b.store(w + 1, at)


def _warp_in_turn(b: Builder, launch: Record, w: Value, count: Value) -> Value:
    """The number of the warp that has the w-th turn."""
    step, first, back = (b.resize(b.get(launch, LAUNCH, f"warp_{name}"), "i64") for name in ("step", "first", "back"))
    return permuted(b, w, count, step, first, back)


def _open_warp(b: Builder, worker: Record, launch: Record, warp: Record, number: Value, w: Value) -> None:
    """`number` counts the worker's warps, `w` the block's."""
    # Kernels that never wait run their warps one after the other on one stack.
    one_stack = launch.shared_stacks != 0
    stack = b.select(one_stack, i64(0), number) * worker.stack_size
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
        queue = b.offset(queues, number * size)
        b.put(warp, WARP, name, b.select(queues != NULL, queue, NULL))
    for axis in range(3):
        warp.tid[axis] = b.load("i32", b.offset(tids, 4 * LANES * axis))
        warp.ntid[axis] = launch.ntid[axis]
        warp.nctaid[axis] = launch.grid[axis]


def emit_start_block(m: IrModule, processor: Processor) -> None:
    """gs_start_block: fills in an open slot's block and warps for the block with the given linear index."""
    with m.function("void", "gs_start_block", "worker* worker", "block* block", "i64 index", "i64 slot") as (
        b,
        (worker, block, index, slot),
    ):
        launch = worker.launch
        count = launch.warps_per_block
        x, y = (b.resize(launch.grid[axis], "i64") for axis in range(2))
        row = index // x
        coordinates = (index % x, row % y, row // y)
        ctaid = [b.resize(p, "i32") for p in coordinates]
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
        single = launch.cluster_size == 0
        observed_index = b.select(single, index, worker.taken)
        observed = _observe_block(b, worker, block, launch, observed_index, slot)
        room = worker.stack_size - (STACK_MARGIN + 64 + processor.save)
        at = b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            w = b.load("i32", at)
            b.break_if(w >= count, done)
            warp = warp_at(b, block, w)
            frame = b.pointer(warp.stack_limit + room)
            store_first_frame(b, processor, warp, frame)
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
            warp.fenced_epoch = 0
            warp.lanes_gave = 0
            _forget_local(b, worker, warp, first + b.resize(w, "i64"), observed)
            warp.cluster_arrived = 0
            wgmma = "<4 x i32>"  # all four counters of wgmma
            b.store(constant(wgmma, 0), warp.field("wgmma_inside"), align=4)
            for name, size in (("copies", COPIES.size), ("wgmma", FLIGHTS.size)):
                account = b.get(warp, WARP, name)
                with b.if_(account != NULL):
                    b.emit(f"call void @llvm.memset.p0.i64(ptr {account.name}, i8 0, i64 {size}, i1 false)")
            b.store(w + 1, at)


def _forget_local(b: Builder, worker: Record, warp: Record, number: Value, observed: Value) -> None:
    """An observed warp starts with local memory that nothing has written."""
    shadow, stride = worker.local_unset, worker.local_stride
    local_shadow = shadow + number * stride
    watched = (observed != 0) & (shadow != 0)
    local_shadow = b.select(watched, local_shadow, i64(0))
    warp.local_unset = local_shadow
    with b.if_(watched):
        b.emit(f"call void @llvm.memset.p0.i64(ptr {b.pointer(local_shadow).name}, i8 1, {stride!r}, i1 false)")


def _observe_block(b: Builder, worker: Record, block: Record, launch: Record, index: Value, slot: Value) -> Value:
    """1 where this block is one of those counted."""
    chosen = is_observed(b, launch, index)
    with b.if_(chosen):
        race = worker.race
        with b.if_(race != NULL):
            shadow = b.offset(race, slot * worker.race_stride)
            block.race = shadow
            b.call("void", "gs_race_begin", shadow, launch.shadow, index)
            lanes, watched_blocks = worker.lanes, launch.lanes_watched
            block.lanes = NULL
            watched = (launch.lanes_all != 0) | (index == watched_blocks[0]) | (index == watched_blocks[1])
            with b.if_(watched & (lanes != NULL)):
                lane_shadow = b.offset(lanes, slot * worker.lanes_stride)
                block.lanes = lane_shadow
                b.call("void", "gs_lanes_begin", lane_shadow)
            # Shared memory holds anything when a block starts; here it is NaN, which shows in whatever it is used for.
            start, size = b.pointer(block.shared), launch.shared_size
            b.emit(f"call void @llvm.memset.p0.i64(ptr {start.name}, i8 -1, i64 {size.name}, i1 false)")
    return b.resize(chosen, "i32")
