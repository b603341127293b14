"""What a lane that tells other warps something, or waits at an mbarrier, does for the others of its warp: nothing.

Between warps races are found warp by warp (shared_races.py). Where one lane arrives at an mbarrier, sets a flag or
counts for all, those that it has met since have done their part and the others may not have: each warp keeps up to
which epoch (shared_lane_races.py) what each lane did is `released`, by whatever told somebody of it. A fence tells
nobody: it is the lane behind it that does. Where one waits for all, the others know no more than before until they meet
it: `knowing` are the lanes that may know what has come since, and `before` the epochs of all warps when the others last
did. Whatever else orders memory counts for all lanes, so that order is never missed.
"""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant, wide
from gridstride.virtual.runtime.common import i32

VECTOR = wide("i32")


def emit_lane_orders(m: IrModule) -> None:
    """gs_lanes_publish: a warp releases, and knows, what all of its lanes do; gs_lanes_learn: all of them may know.
    gs_lanes_landed: its copies have landed, which tells those who wait for them and nobody in the warp itself.
    gs_lanes_fence: the lanes of a mask come to a fence. gs_lanes_tell: they store what others may read.
    gs_lanes_release and gs_lanes_wait: they arrive at an mbarrier, or wait at one.
    """
    with m.function("void", "gs_lanes_learn", "warp* warp") as (b, (warp,)):
        b.store(i32(-1), _knowing(b, block_lanes(b, warp), warp))
    for name in ("publish", "landed"):
        with m.function("void", f"gs_lanes_{name}", "warp* warp") as (b, (warp,)):
            b.call("void", "gs_lanes_together", warp)
            lanes = block_lanes(b, warp)
            pointer = _epoch(b, lanes, warp)
            now = b.load("i32", pointer)
            b.store(b.splat(now), _released(b, lanes, warp.warp), align=4)
            if name == "publish":
                b.store(i32(-1), _knowing(b, lanes, warp))
            b.store(now + 1, pointer)
    with m.function("void", "gs_lanes_fence", "warp* warp", "i32 mask") as (b, (warp, mask)):
        lanes = block_lanes(b, warp)
        pointer, row = _epoch(b, lanes, warp), _fenced(b, lanes, warp)
        now = b.load("i32", pointer)
        b.store(b.select(_lane_bits(b, mask), b.splat(now), b.load(VECTOR, row, align=4)), row, align=4)
        b.store(now + 1, pointer)
    with m.function("void", "gs_lanes_tell", "warp* warp", "i32 mask") as (b, (warp, mask)):
        b.call("void", "gs_lanes_gave", warp, mask)
        lanes = block_lanes(b, warp)
        with b.if_(mask != 0):
            fenced, row = b.load(VECTOR, _fenced(b, lanes, warp), align=4), told_row(b, lanes, warp)
            fenced_epochs = b.select(_lane_bits(b, mask), fenced, constant(VECTOR, 0))
            acquired = _release(b, lanes, warp, mask)
            merged = b.intrinsic("umax", b.load(VECTOR, row, align=4), b.intrinsic("umax", fenced_epochs, acquired))
            b.store(merged, row, align=4)
    for name in ("release", "wait"):
        with m.function("void", f"gs_lanes_{name}", "warp* warp", "i32 mask") as (b, (warp, mask)):
            with b.if_((warp.live & ~mask) == 0):
                b.call("void", "gs_lanes_sync", warp)
                b.ret()
            b.terminated = False
            if name == "release":
                b.call("void", "gs_lanes_gave", warp, mask)
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


def released(b: Builder, lanes: Record, warp: Record, epochs: Value) -> None:
    """What lanes of a warp have given by atomics or ordered stores, and what they knew, is released."""
    row = _released(b, lanes, warp.warp)
    met = b.splat(b.load("i32", lanes.field("met", b.resize(warp.warp, "i64"))))
    b.store(b.intrinsic("umax", b.load(VECTOR, row, align=4), b.intrinsic("umax", epochs, met)), row, align=4)


def learns(b: Builder, lanes: Record, warp: Record, mask: Value) -> None:
    """The lanes of a mask have read what others may have told."""
    pointer = _knowing(b, lanes, warp)
    b.store(b.load("i32", pointer) | mask, pointer)


def joined(b: Builder, lanes: Record, warp: Record, mask: Value) -> None:
    """The lanes of a mask have met: they know what any of them does."""
    pointer = _knowing(b, lanes, warp)
    knowing = b.load("i32", pointer)
    with b.if_((knowing & mask) != 0):
        b.store(knowing | mask, pointer)


def not_told(b: Builder, lanes: Record, warp: Record, lane: Value, theirs: tuple[Value, Value, Value]) -> Value:
    """An i1: what a lane of another warp did in an epoch (warp, lane, epoch) is not released, or not known here."""
    other_warp, their_lane, epoch = theirs
    released_epoch = b.load("i32", b.offset(_released(b, lanes, other_warp), b.resize(their_lane, "i64") * 4))
    acquired_epoch = b.load("i32", b.offset(_before(b, lanes, warp), b.resize(other_warp, "i64") * 4))
    unaware = ((b.load("i32", _knowing(b, lanes, warp)) >> lane) & 1) == 0
    return (epoch > released_epoch) | (unaware & (epoch > acquired_epoch))


def _release(b: Builder, lanes: Record, warp: Record, mask: Value) -> Value:
    """What each lane of the mask has done, and what it knows of others; gives up to which epochs they know."""
    pointer, most = _epoch(b, lanes, warp), b.alloca(VECTOR, align=64)
    now, row = b.load("i32", pointer), _released(b, lanes, warp.warp)
    met = b.load("i32", lanes.field("met", b.resize(warp.warp, "i64")))
    b.store(b.splat(met), most)
    with b.if_((warp.live & ~mask) != 0), b.lanes(mask) as lane:
        b.store(
            b.intrinsic("umax", b.load(VECTOR, most), b.load(VECTOR, _known_row(b, lanes, warp, lane), align=4)), most
        )
    acquired = b.load(VECTOR, most)
    merged = b.intrinsic("umax", b.load(VECTOR, row, align=4), acquired)
    b.store(b.select(_lane_bits(b, mask), b.splat(now), merged), row, align=4)
    b.store(now + 1, pointer)
    return acquired


def _wait(b: Builder, lanes: Record, warp: Record, mask: Value) -> None:
    """They know what was released, also by lanes of their own warp."""
    pointer, epochs = _knowing(b, lanes, warp), lanes.field("epoch")
    with b.if_(b.load("i32", pointer) == -1):
        now = b.load(VECTOR, epochs, align=4)
        b.store(now, _before(b, lanes, warp), align=4)
        b.store(now + 1, epochs, align=4)
        b.store(i32(0), pointer)
    b.store(b.load("i32", pointer) | mask, pointer)
    released_epochs = b.load(VECTOR, _released(b, lanes, warp.warp), align=4)
    with b.lanes(mask) as lane:
        row = _known_row(b, lanes, warp, lane)
        b.store(b.intrinsic("umax", b.load(VECTOR, row, align=4), released_epochs), row, align=4)


def _lane_bits(b: Builder, mask: Value) -> Value:
    """The bits of a mask as an i1 for each lane."""
    return b.bitcast(mask, wide("i1"))


def told_row(b: Builder, lanes: Record, warp: Record) -> Value:
    """Up to which epoch what each lane of a warp did is behind a fence of its own and a volatile store."""
    return b.offset(lanes.field("told"), b.resize(warp.warp, "i64") * (4 * LANES))


def _fenced(b: Builder, lanes: Record, warp: Record) -> Value:
    return b.offset(lanes.field("fenced"), b.resize(warp.warp, "i64") * (4 * LANES))


def _epoch(b: Builder, lanes: Record, warp: Record) -> Value:
    return lanes.field("epoch", b.resize(warp.warp, "i64"))


def _knowing(b: Builder, lanes: Record, warp: Record) -> Value:
    return lanes.field("knowing", b.resize(warp.warp, "i64"))


def _released(b: Builder, lanes: Record, number: Value) -> Value:
    return b.offset(lanes.field("released"), b.resize(number, "i64") * (4 * LANES))


def _before(b: Builder, lanes: Record, warp: Record) -> Value:
    return b.offset(lanes.field("before"), b.resize(warp.warp, "i64") * (4 * LANES))


def _known_row(b: Builder, lanes: Record, warp: Record, lane: Value) -> Value:
    """Up to which epoch a lane of the warp knows each lane."""
    return b.offset(lanes.field("known"), b.resize((warp.warp << 5) | lane, "i64") * (4 * LANES))
