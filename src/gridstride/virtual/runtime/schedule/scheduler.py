"""The block scheduler: warps as fibers, blocks in slots, workers that take blocks until none are left."""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import LAUNCH, WAITING, WORKER
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value
from gridstride.virtual.runtime.common import block_in_turn, i32, i64
from gridstride.virtual.runtime.schedule.barriers import emit_barriers
from gridstride.virtual.runtime.schedule.block_rounds import FINISHED, SPUN, STUCK, emit_run_block
from gridstride.virtual.runtime.schedule.block_slots import emit_open_slot, emit_start_block
from gridstride.virtual.runtime.schedule.fault_exits import emit_faults
from gridstride.virtual.runtime.schedule.fibers import Processor, module_assembly
from gridstride.virtual.runtime.schedule.groups import emit_groups
from gridstride.virtual.runtime.schedule.stalls import emit_stalls
from gridstride.virtual.runtime.schedule.warp_fibers import STACK_MARGIN, emit_warp_main


def emit_scheduler(m: IrModule, processor: Processor) -> None:
    """Everything a kernel's code calls that is not about memory."""
    m.preamble += module_assembly(processor)
    m.signatures["gs_boot"] = "declare void @gs_boot()"
    emit_faults(m)
    emit_barriers(m)
    emit_groups(m, processor, STACK_MARGIN)
    emit_warp_main(m)
    emit_open_slot(m)
    emit_start_block(m, processor)
    emit_run_block(m, processor)
    emit_stalls(m, STACK_MARGIN)
    _run(m)
    _deadlock(m)


def _run(m: IrModule) -> None:
    """gs_run, one worker: takes blocks until none are left; opens another slot only when those it has are spinning, or
    all at once where blocks advance in step.
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
        _open_all_in_step(b, worker, launch, open_slots, slots)
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
                _take_block(b, worker, launch, block, slot, total)
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
            count = b.load("i64", open_slots)
            more = (b.load("i64", spun) != 0) & (count < slots)
            with b.if_(more):
                b.call("void", "gs_open_slot", worker, count)
                b.store(count + 1, open_slots)
            all_wait = b.load("i64", spun) == b.load("i64", live)
            watched = launch.alone_on_device != 0
            opens_none = ~more
            with b.if_(watched & (all_wait & opens_none)):
                b.call("void", "gs_stalled", worker, count)


def _deadlock(m: IrModule) -> None:
    """gs_deadlock: no warp of a block can go on."""
    with m.function("void", "gs_deadlock", "block* block", cold=True) as (b, (block,)):
        # The first warp that still waits stands for the block; Python reads the others from the block itself.
        warps, at = block.warps, b.alloca("i64")
        b.store(i64(0), at)
        with b.loop() as done:
            warp = warps[b.load("i64", at)]
            b.break_if(warp.state == WAITING, done)
            b.store(b.load("i64", at) + 1, at)
        warp = warps[b.load("i64", at)]
        live, site = warp.live, warp.site
        b.call("void", "gs_record", warp, site, i32(FAULT["deadlock"]), live, i64(0), i32(0), i32(0))


def _open_all_in_step(b: Builder, worker: Record, launch: Record, open_slots: Value, slots: Value) -> None:
    """Opens every slot where blocks advance in step: those that came later would be behind for good."""
    with b.loop() as opened:
        count = b.load("i64", open_slots)
        b.break_if((launch.in_step == 0) | (count >= slots), opened)
        b.call("void", "gs_open_slot", worker, count)
        b.store(count + 1, open_slots)


def _take_block(b: Builder, worker: Record, launch: Record, block: Record, slot: Value, total: Value) -> None:
    """Gives an idle slot the next block of the grid, if there is one."""
    with b.if_(block.active == 0):
        with b.if_(worker.row >= worker.row_end):
            # Some blocks in a row at a time: cores that took turns would each fetch the other's memory ahead too.
            counter, blocks = launch.field("next"), launch.in_a_row
            first = b.define("i64", f"atomicrmw add ptr {counter.name}, i64 {blocks.name} seq_cst")
            worker.row = first
            worker.row_end = b.intrinsic("umin", first + blocks, total)
        index = worker.row
        worker.row = index + 1
        with b.if_(index < total):
            b.call("void", "gs_start_block", worker, block, block_in_turn(b, launch, index, total), slot)
