"""Loops that may give up waiting, where the schedule lets them run until they do (analysis/bounded_waits.py)."""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import LAUNCH
from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.function import Lowering


def innermost_wait(cx: Lowering) -> tuple[int, int] | None:
    """The header and the last block of the waiting loop that an instruction is in, with none further in."""
    loops = [(z, a) for a, z in cx.code.spin_edges if z <= cx.block <= a]
    if not loops:
        return None
    start = max(z for z, _ in loops)
    return start, max(a for z, a in loops if z == start)


def in_bounded_wait(cx: Lowering) -> bool:
    """Whether that loop may give up."""
    wait = innermost_wait(cx)
    return wait is not None and any(z == wait[0] for _, z in cx.code.bounded_waits)


def patient(cx: Lowering, rounds: int) -> Value:
    """An i1: nobody else gets a turn for now; takes so many rounds from what is left of the launch's patience."""
    b, patience = cx.b, cx.b.offset(cx.field("launch"), LAUNCH.offset["patience_left"])
    remaining = b.load("i64", patience)
    on = b.compare("sgt", remaining, constant("i64", 0))
    b.store(b.select(on, b.op("sub", remaining, constant("i64", rounds)), remaining), patience)
    return on
