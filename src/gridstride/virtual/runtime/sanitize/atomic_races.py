"""Atomics on shared memory in the race detector: among one another they do not race, with plain accesses they do.

An atomic is recorded as a write whose writer has the bit ATOMIC set, which other atomics pass over. Those that look at
the value itself (cas, min, max, and, or) are held against plain writes alone and leave no record: such words are often
read plainly first, to save the atomic, and an old value does no harm (see CHECKED). Nor does an atomic
stand in the place of its own warp's plain write since the warp last met others: whoever knows of the one knows of the
other, and the plain one races with more (`if (t == 0) count = 0; atomicAdd(&count, 1);`).
"""

from __future__ import annotations

from gridstride.virtual.abi.race_shadows import ATOMIC
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, wide
from gridstride.virtual.runtime.sanitize.clocks import row_of
from gridstride.virtual.runtime.sanitize.shared_races import LaneAccess, against, clock_of, first_lane, plane_of


def emit_atomic_races(m: IrModule) -> None:
    """gs_race_atomic and gs_race_checked, to be called before the atomic tells its block what the warp knows."""
    for kind in ("atomic", "checked"):
        head = ("warp* warp", "i32 site", "i32 mask", f"{wide('i32')} address", "i32 size")
        with m.function("void", f"gs_race_{kind}", *head) as (b, (warp, site, mask, address, size)):
            _units(b, kind, warp, site, mask, address, size)


def _units(b: Builder, kind: str, warp: Record, site: Value, mask: Value, address: Value, size: Value) -> None:
    """One lane after the other; lanes that touch one word are one access."""
    race = warp.block.race
    with b.if_(~(race != NULL)):
        b.ret()
    shift, remaining, at = race.shift, b.alloca("i32"), b.alloca("i32")
    b.store(mask, remaining)
    with b.loop() as done:
        now = b.load("i32", remaining)
        b.break_if(now == 0, done)
        lane = first_lane(b, now)
        lane_address = b.extract(address, lane)
        same = b.bitcast(address == b.splat(lane_address), "i32")
        b.store(now & ~same, remaining)
        end = (lane_address + size) >> shift
        b.store(lane_address >> shift, at)
        with b.loop() as through:
            unit = b.load("i32", at)
            b.break_if(unit >= b.intrinsic("umin", end, race.words), through)
            b.store(unit + 1, at)
            _touch(b, kind, race, warp, site, lane, b.resize(unit, "i64"))


def _touch(b: Builder, kind: str, race: Record, warp: Record, site: Value, lane: Value, unit: Value) -> None:
    own, shift = warp.warp, race.shift
    access = LaneAccess(warp, race, row_of(b, race, own), own, site, lane, shift)
    writer = plane_of(b, race, "writer", unit)
    plain = (b.load("i32", writer) & ATOMIC) == 0
    with b.if_(plain):
        against(b, access, unit, "written", "writer")
    if kind == "checked":
        return
    for when, who in (("read", "reader"), ("read_before", "reader_before")):
        against(b, access, unit, when, who)
    clock, written = clock_of(b, race, own), plane_of(b, race, "written", unit)
    hides = plain & (b.load("i32", written) == clock)
    with b.if_(~hides):
        b.store(clock, written)
        me = (site << 16) | (own << 8)
        b.store(me | lane | ATOMIC, writer)
