"""Aligned barriers in the observed build: all lanes of a warp must come to the same one.

PTX lets the warps of a block come to a barrier at different instructions, as specialised warps do, but the lanes of one
warp must execute the same instruction. Lanes that have returned need not come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.analysis.control_flow import last_of, waits
from gridstride.virtual.lowering.analysis.lane_frontiers import bits_of
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.observed.barrier_divergence import comes_back, follows, goes_around
from gridstride.virtual.ptx.module import Instruction


def watch_barrier(
    cx: Lowering, index: int, site: int, pending: Sequence[Value], gates: Mapping[int, Value]
) -> None:  # fmt: skip
    """Ahead of the barrier that ends block `index`. `pending`: the lanes that wait for each block; `gates`: of the
    blocks where lanes are held at a barrier, the phase they wait for.
    """
    b = cx.b
    b.call("void", "gs_lanes_sync", cx.warp)
    if "aligned" not in cx.ins.modifiers:
        return  # barrier.sync, as cooperative groups write it, lets each lane come on its own
    if cx.function.name in cx.program.waiting:
        b.call("void", "gs_group_divergence", cx.warp, constant("i32", site), cx.current_mask())
    other_barriers = dict(_other_barriers(cx, index))
    _report_passed(cx, index, site, pending, other_barriers)
    for held, barrier in other_barriers.items():
        if held in gates:
            _held_elsewhere(cx, site, barrier, pending[held], gates[held])


def _other_barriers(cx: Lowering, index: int) -> Iterator[tuple[int, Instruction]]:
    """Blocks where lanes may be held at another aligned barrier while this one is met, with that barrier.

    What the compiler made of one __syncthreads() in an unrolled loop is one barrier: its copies have one line, and
    follow one another. Those in two arms of a branch on one line do not.
    """
    for block, successors in enumerate(cx.code.successors):
        barrier = last_of(cx.code.blocks[block])
        if block == index or barrier is None or barrier.opcode == "call" or not waits(barrier):
            continue
        copy = barrier.loc is not None and barrier.loc == cx.ins.loc and _in_turn(cx, index, block)
        if "aligned" in barrier.modifiers and not copy and cx.facts.frontier[index] >> successors[0] & 1:
            yield successors[0], barrier


def _in_turn(cx: Lowering, block: int, other: int) -> bool:
    return follows(cx.code, block, other) or follows(cx.code, other, block)


def _report_passed(
    cx: Lowering, index: int, site: int, pending: Sequence[Value], other_barriers: Mapping[int, Instruction]
) -> None:  # fmt: skip
    """Lanes of the same warp have gone past the barrier, other than by returning."""
    # Lanes in an earlier block, as those of a loop that waits for another thread, may still come here.
    # Those held at this barrier already have come, as have their siblings when a lane that waited joins them.
    expected = {*cx.code.successors[index], *other_barriers}
    waiting = [f for f in bits_of(cx.facts.frontier[index]) if f > index and f not in expected]
    waiting = [f for f in waiting if goes_around(cx.code, index, f) and not comes_back(cx.code, index, f)]
    if waiting:
        lanes = [cx.b.load("i32", pending[f]) for f in waiting]
        _report(cx, site, site, reduce(lambda x, y: cx.b.op("or", x, y), lanes))


def _held_elsewhere(cx: Lowering, site: int, barrier: Instruction, pending: Value, gate: Value) -> None:
    """Lanes of the same warp wait at another barrier, which has not let them go."""
    b = cx.b
    held = b.load("i32", pending)
    with b.if_(b.compare("ne", held, constant("i32", 0))):
        opened = b.call("i1", "gs_gate_open", cx.warp, b.load("i64", gate))
        closed = b.select(opened, constant("i32", 0), held)
        _report(cx, site, cx.program.site_of(cx, barrier), closed)


def _report(cx: Lowering, site: int, other: int, lanes: Value) -> None:
    """A finding where there are `lanes`; `other` is where they are, the same site where they went past."""
    b = cx.b
    with b.if_(b.compare("ne", lanes, constant("i32", 0))):
        lane = b.call("i32", "llvm.cttz.i32", lanes, constant("i1", True))
        mine = b.call("i32", "llvm.cttz.i32", cx.current_mask(), constant("i1", True))
        who = b.op("or", b.op("shl", cx.field("warp"), constant("i32", 8)), lane)
        kind, own_site, other_site = (constant("i32", n) for n in (FAULT["barrier_divergence"], site, other))
        b.call("void", "gs_report", cx.warp, kind, own_site, mine, other_site, who, constant("i64", 0))
