"""What the lanes of one warp learn from one another's atomics and ordered accesses, and whether those race.

An atomic does not bring the lanes of its warp together. It gives what its lane has done and knows; only one whose old
value is read, an ordered load or a volatile one takes, and takes what was given before it: of one instruction the lanes
take turns, as the atomic itself does. All places share one clock (`given`), so that order is never missed. A volatile
store gives what is behind a fence to those alone who poll, in a loop that does nothing else (analysis/polls.py):
whoever reads such values in any other way counts on lanes that run in step.

In global memory a warp has one epoch for all lanes: whatever takes begins a new one, and giving alone begins none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value, wide
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.sanitize.lane_orders import block_lanes, learns, released, told_row

VECTOR = wide("i32")


def emit_lane_atomics(m: IrModule) -> None:
    """gs_lanes_give: an atomic whose old value nobody reads, or an ordered store; gs_lanes_exchange: another atomic;
    gs_lanes_take: an ordered load; gs_lanes_hear: a volatile one, gs_lanes_poll: in a loop that waits. gs_lanes_heard,
    gs_lanes_polled, behind those: the epoch they begin, the last where gs_lanes_told came behind a volatile store.
    """
    with m.function("void", "gs_lanes_heard", "warp* warp") as (b, (warp,)), b.if_((warp.lanes_gave & 1) != 0):
        b.call("void", "gs_lanes_meet", warp)
    with m.function("void", "gs_lanes_told", "warp* warp") as (b, (warp,)), b.if_(warp.fenced_epoch == warp.lane_epoch):
        warp.lanes_gave |= 2
    with m.function("void", "gs_lanes_polled", "warp* warp") as (b, (warp,)), b.if_(warp.lanes_gave != 0):
        b.call("void", "gs_lanes_meet", warp)
    for name in ("give", "exchange", "take", "hear", "poll"):
        with m.function("void", f"gs_lanes_{name}", "warp* warp", "i32 mask") as (b, (warp, mask)):
            if name in ("give", "exchange"):
                b.call("void", "gs_lanes_gave", warp, mask)
            lanes = block_lanes(b, warp)
            with b.if_(mask != 0):
                _order(b, name, lanes, warp, mask)


def _order(b: Builder, name: str, lanes: Record, warp: Record, mask: Value) -> None:
    number = b.resize(warp.warp, "i64")
    pointer, released_row = lanes.field("epoch", number), b.alloca(VECTOR, align=64)
    row = b.offset(lanes.field("given"), number * (4 * LANES))
    now = b.load("i32", pointer)
    epochs = b.load(VECTOR, row, align=4)
    if name == "poll":
        epochs = b.intrinsic("umax", epochs, b.load(VECTOR, told_row(b, lanes, warp), align=4))
    b.store(epochs, released_row)
    with _in_turn(b, warp, mask) as lane:
        known_row = b.offset(lanes.field("known"), b.resize((warp.warp << 5) | lane, "i64") * (4 * LANES))
        merged = b.intrinsic("umax", b.load(VECTOR, released_row), b.load(VECTOR, known_row, align=4))
        if name != "give":
            b.store(merged, known_row, align=4)
        if name in ("give", "exchange"):
            b.store(merged, released_row)
            b.store(now, b.offset(released_row, b.resize(lane, "i64") * 4))
    if name in ("give", "exchange"):
        b.store(b.load(VECTOR, released_row), row, align=4)
        released(b, lanes, warp, b.load(VECTOR, released_row))
        b.store(now + 1, pointer)
    if name != "give":
        learns(b, lanes, warp, mask)


@contextmanager
def _in_turn(b: Builder, warp: Record, mask: Value) -> Iterator[Value]:
    """The lanes of a mask as an atomic takes them (LAUNCH.lanes_back)."""
    back = warp.launch.lanes_back != 0
    turns, flip = b.select(back, b.intrinsic("bitreverse", mask), mask), b.select(back, i32(LANES - 1), i32(0))
    with b.lanes(turns) as turn:
        yield turn ^ flip
