"""What the lanes of one warp learn from one another's atomics and ordered accesses, and whether those race.

An atomic does not bring the lanes of its warp together. It gives what its lane has done and knows; only one whose old
value is read, an ordered load or a volatile one takes, and takes what was given before it: of one instruction the lanes
take turns, as the atomic itself does. All places share one clock (`given`), so that order is never missed.

In global memory a warp has one epoch for all lanes: whatever takes begins a new one, and giving alone begins none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value, wide
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.sanitize.lane_orders import block_lanes

VECTOR = wide("i32")


def emit_lane_atomics(m: IrModule) -> None:
    """gs_lanes_give: an atomic whose old value nobody reads, or an ordered store; gs_lanes_exchange: another atomic;
    gs_lanes_take: an ordered load; gs_lanes_hear: a volatile one. gs_lanes_heard, behind that: the epoch it begins.
    """
    with m.function("void", "gs_lanes_heard", "warp* warp") as (b, (warp,)), b.if_(warp.lanes_gave != 0):
        b.call("void", "gs_lanes_meet", warp)
    for name in ("give", "exchange", "take", "hear"):
        with m.function("void", f"gs_lanes_{name}", "warp* warp", "i32 mask") as (b, (warp, mask)):
            lanes = block_lanes(b, warp)
            with b.if_(mask != 0):
                _order(b, name, lanes, warp, mask)


def _order(b: Builder, name: str, lanes: Record, warp: Record, mask: Value) -> None:
    number = b.resize(warp.warp, "i64")
    pointer, given = lanes.field("epoch", number), b.alloca(VECTOR, align=64)
    row = b.offset(lanes.field("given"), number * (4 * LANES))
    now = b.load("i32", pointer)
    b.store(b.load(VECTOR, row, align=4), given)
    with _in_turn(b, warp, mask) as lane:
        known = b.offset(lanes.field("known"), b.resize((warp.warp << 5) | lane, "i64") * (4 * LANES))
        both = b.intrinsic("umax", b.load(VECTOR, given), b.load(VECTOR, known, align=4))
        if name != "give":
            b.store(both, known, align=4)
        if name in ("give", "exchange"):
            b.store(both, given)
            b.store(now, b.offset(given, b.resize(lane, "i64") * 4))
    if name in ("give", "exchange"):
        b.store(b.load(VECTOR, given), row, align=4)
        b.store(now + 1, pointer)


@contextmanager
def _in_turn(b: Builder, warp: Record, mask: Value) -> Iterator[Value]:
    """The lanes of a mask as an atomic takes them (LAUNCH.lanes_back)."""
    back = warp.launch.lanes_back != 0
    turns, flip = b.select(back, b.intrinsic("bitreverse", mask), mask), b.select(back, i32(LANES - 1), i32(0))
    with b.lanes(turns) as turn:
        yield turn ^ flip
