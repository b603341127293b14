"""What a lane that arrives at an mbarrier, or waits at one, does for the other lanes of its warp: nothing by itself.

Between warps races are found warp by warp (shared_races.py). Where one lane arrives for all, those that it has met
since have done their part and the others may not have: each warp keeps up to which epoch (shared_lane_races.py) what
each lane did is `released`. Where one waits for all, the others know no more than before until they meet it: `knowing`
are the lanes that may know what has come since, and `before` the epochs of all warps when the others last did. Whatever
else orders memory counts for all lanes, so that order is never missed.
"""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant, wide
from gridstride.virtual.runtime.common import i32

VECTOR = wide("i32")


def emit_lane_orders(m: IrModule) -> None:
    """gs_lanes_publish: a warp releases, and knows, what all of its lanes do; gs_lanes_fenced: it releases that alone.
    gs_lanes_release and gs_lanes_wait: the lanes of a mask arrive at an mbarrier, or wait at one.
    """
    for name in ("publish", "fenced"):
        with m.function("void", f"gs_lanes_{name}", "warp* warp") as (b, (warp,)):
            lanes = block_lanes(b, warp)
            pointer = _epoch(b, lanes, warp)
            now = b.load("i32", pointer)
            b.store(b.splat(now), _released(b, lanes, warp.warp), align=4)
            if name == "publish":
                b.store(i32(-1), _knowing(b, lanes, warp))
            b.store(now + 1, pointer)
    for name in ("release", "wait"):
        with m.function("void", f"gs_lanes_{name}", "warp* warp", "i32 mask") as (b, (warp, mask)):
            with b.if_((warp.live & ~mask) == 0):
                b.call("void", "gs_lanes_sync", warp)
                b.ret()
            b.terminated = False
            b.call("void", "gs_lanes_meet", warp)
            lanes = block_lanes(b, warp)
            with b.if_(mask != 0):
                (_release if name == "release" else _wait)(b, lanes, warp, mask)


def block_lanes(b: Builder, warp: Record) -> Record:
    """The block's record of its lanes; the function returns where it has none."""
    lanes = warp.block.lanes
    with b.if_(lanes == NULL):
        b.ret()
    return lanes


def begin(b: Builder, lanes: Record, now: Value) -> None:
    """What a block's slot has seen before is released; `now`: the epochs of its warps."""
    for w in range(LANES):
        b.store(b.splat(b.extract(now, w)), lanes.field("released", w * LANES), align=4)
    b.store(constant(VECTOR, -1), lanes.field("knowing"), align=4)


def release_all(b: Builder, lanes: Record, warp: Record, now: Value) -> None:
    """All lanes of a warp have met, or count as if they had."""
    b.store(b.splat(now), _released(b, lanes, warp.warp), align=4)
    b.store(i32(-1), _knowing(b, lanes, warp))


def joined(b: Builder, lanes: Record, warp: Record, mask: Value) -> None:
    """The lanes of a mask have met: they know what any of them does."""
    pointer = _knowing(b, lanes, warp)
    knowing = b.load("i32", pointer)
    with b.if_((knowing & mask) != 0):
        b.store(knowing | mask, pointer)


def not_told(b: Builder, lanes: Record, warp: Record, lane: Value, theirs: tuple[Value, Value, Value]) -> Value:
    """An i1: what a lane of another warp did in an epoch (warp, lane, epoch) is not released, or not known here."""
    them, their_lane, epoch = theirs
    released = b.load("i32", b.offset(_released(b, lanes, them), b.resize(their_lane, "i64") * 4))
    before = b.load("i32", b.offset(_before(b, lanes, warp), b.resize(them, "i64") * 4))
    unaware = ((b.load("i32", _knowing(b, lanes, warp)) >> lane) & 1) == 0
    return (epoch > released) | (unaware & (epoch > before))


def _release(b: Builder, lanes: Record, warp: Record, mask: Value) -> None:
    """What each lane of the mask has done, and what it knows of others."""
    pointer, most = _epoch(b, lanes, warp), b.alloca(VECTOR, align=64)
    now, row = b.load("i32", pointer), _released(b, lanes, warp.warp)
    met = b.load("i32", lanes.field("met", b.resize(warp.warp, "i64")))
    b.store(b.intrinsic("umax", b.load(VECTOR, row, align=4), b.splat(met)), most)
    with b.lanes(mask) as lane:
        b.store(b.intrinsic("umax", b.load(VECTOR, most), b.load(VECTOR, _known(b, lanes, warp, lane), align=4)), most)
    with b.lanes(mask) as lane:
        b.store(now, b.offset(most, b.resize(lane, "i64") * 4))
    b.store(b.load(VECTOR, most), row, align=4)
    b.store(now + 1, pointer)


def _wait(b: Builder, lanes: Record, warp: Record, mask: Value) -> None:
    """They know what was released, also by lanes of their own warp."""
    pointer, epochs = _knowing(b, lanes, warp), lanes.field("epoch")
    with b.if_(b.load("i32", pointer) == -1):
        now = b.load(VECTOR, epochs, align=4)
        b.store(now, _before(b, lanes, warp), align=4)
        b.store(now + 1, epochs, align=4)
        b.store(i32(0), pointer)
    b.store(b.load("i32", pointer) | mask, pointer)
    released = b.load(VECTOR, _released(b, lanes, warp.warp), align=4)
    with b.lanes(mask) as lane:
        row = _known(b, lanes, warp, lane)
        b.store(b.intrinsic("umax", b.load(VECTOR, row, align=4), released), row, align=4)


def _epoch(b: Builder, lanes: Record, warp: Record) -> Value:
    return lanes.field("epoch", b.resize(warp.warp, "i64"))


def _knowing(b: Builder, lanes: Record, warp: Record) -> Value:
    return lanes.field("knowing", b.resize(warp.warp, "i64"))


def _released(b: Builder, lanes: Record, number: Value) -> Value:
    return b.offset(lanes.field("released"), b.resize(number, "i64") * (4 * LANES))


def _before(b: Builder, lanes: Record, warp: Record) -> Value:
    return b.offset(lanes.field("before"), b.resize(warp.warp, "i64") * (4 * LANES))


def _known(b: Builder, lanes: Record, warp: Record, lane: Value) -> Value:
    """Up to which epoch a lane of the warp knows each lane."""
    return b.offset(lanes.field("known"), b.resize((warp.warp << 5) | lane, "i64") * (4 * LANES))
