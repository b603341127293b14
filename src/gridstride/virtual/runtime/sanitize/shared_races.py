"""The shared-memory race detector of the observed build.

Races are found by happens-before at the grain of warps: each warp has a vector clock, a barrier joins the clocks of
those that met, and every unit of shared memory remembers its last write and its two last readers (Flanagan and Freund,
"FastTrack", 2009). Lanes of one warp run in lock step here and are not checked against one another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import PLANES, RACE
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant, vector_constant, wide
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.sanitize.clocks import entry, row_of
from gridstride.virtual.runtime.sanitize.global_lane_races import note_fence

HALF = LANES // 2


def emit_races(m: IrModule) -> None:
    """gs_race_begin, gs_race_barrier, gs_race_meet, gs_race_fence, gs_race_load, gs_race_store."""
    _race_clocks(m)
    for kind in ("load", "store"):
        _race_access(m, kind)


def first_lane(b: Builder, mask: Value) -> Value:
    return b.call("i32", "llvm.cttz.i32", mask, constant("i1", True))


def _race_clocks(m: IrModule) -> None:
    vector = wide("i32")
    with m.function("void", "gs_race_begin", "race* race", "shadow* shadow", "i64 index") as (b, (race, shadow, index)):
        # A block's stamps come after all that its slot has seen, so the planes need no clearing. The one before its
        # first is nobody's: it stands for what the block had before it began.
        race.shadow = shadow
        race.block = index
        race.pending = 0
        race.fenced_stamps = 0
        race.unset = 0
        race.phase_count = 0
        warps = race.warps
        base_stamp = b.call("i32", "gs_stamps_take", race, warps + 1)
        first, number = base_stamp + 1, b.alloca("i32")
        race.first = first
        b.store(i32(0), number)
        with b.loop() as done:
            w = b.load("i32", number)
            b.break_if(w >= warps, done)
            b.store(w + 1, number)
            # What a warp does before its first barrier, no other warp knows of.
            own = first + w
            b.store(b.insert(b.splat(base_stamp), own, w), row_of(b, race, w), align=4)
            b.store(own, entry(b, race.field("current"), w))
            b.call("void", "gs_stamp_enter", race, own, w)
        for field in ("released", "floor", "fenced", "met"):
            b.store(b.splat(base_stamp), race.field(field), align=4)
        race.released_at = 0
        b.store(constant(vector, 0), race.field("acquired"), align=4)
    with m.function("void", "gs_race_barrier", "race* race", "i32 members") as (b, (race, members)):
        joined, next_, acquired = b.alloca(vector, align=64), b.alloca("i32"), b.alloca("i32")
        b.store(constant(vector, 0), joined)
        b.store(i32(0), acquired)
        times = race.field("acquired")
        with b.lanes(members) as w:
            row = b.load(vector, row_of(b, race, w), align=4)
            b.store(b.intrinsic("umax", b.load(vector, joined), row), joined)
            b.store(b.intrinsic("umax", b.load("i32", acquired), b.load("i32", entry(b, times, w))), acquired)
        clocks, time = b.load(vector, joined), b.load("i32", acquired)
        first = b.call("i32", "gs_stamps_take", race, b.call("i32", "llvm.ctpop.i32", members))
        b.store(first, next_)
        # All stamps of a warp whose current one is known are known; of another, those up to the last one known.
        real = vector_constant("i32", range(LANES)) < b.splat(race.warps)
        current = b.load(vector, race.field("current"), align=4)
        stale = real & (clocks < current)
        usable = b.select(stale, clocks, b.splat(first - 1))
        floor = b.call("i32", f"llvm.vector.reduce.umin.v{LANES}i32", usable)
        with b.lanes(members) as w:
            own = b.load("i32", next_)
            b.store(own + 1, next_)
            b.store(b.insert(clocks, own, w), row_of(b, race, w), align=4)
            b.store(floor, entry(b, race.field("floor"), w))
            b.store(time, entry(b, times, w))
            b.store(own, entry(b, race.field("current"), w))
            b.call("void", "gs_stamp_enter", race, own, w)
    _race_meet(m)


def _race_meet(m: IrModule) -> None:
    """gs_race_meet: release to, and acquire from, one clock for the whole block. gs_race_release and gs_race_fence, for
    all blocks: release alone. A fence acquires nothing by itself: what a thread has read before it does, and an atomic,
    a volatile or an ordered access has read it. gs_race_learn, for a load: acquire alone. gs_race_order: the same as
    the first for some lanes alone (lane_orders.py). One clock for all of those: order is never missed, a race may be.
    """
    _race_learn(m)
    names = ("gs_race_meet", "gs_race_release", "gs_race_fence", "gs_race_order")
    for name in names:
        device, acquires = name == "gs_race_fence", name in ("gs_race_meet", "gs_race_order")
        with m.function("void", name, "warp* warp") as (b, (warp,)):
            fence = not acquires
            if name == "gs_race_meet":
                b.call("void", "gs_lanes_learn", warp)
            race = warp.block.race
            with b.if_(race != NULL):
                if fence:
                    note_fence(b, warp)
                own = warp.warp
                row, released = row_of(b, race, own), race.field("released")
                type_ = wide("i32")
                merged = b.intrinsic("umax", b.load(type_, row, align=4), b.load(type_, released, align=4))
                learnt = merged if acquires else b.load(type_, row, align=4)
                b.store(merged, released, align=4)
                b.store(learnt, row, align=4)
                stamp = b.call("i32", "gs_stamps_take", race, i32(1))
                next_stamp = stamp + 1
                time = entry(b, race.field("acquired"), own)
                latest = b.intrinsic("umax", b.load("i32", time), race.released_at)
                if device:
                    b.call("void", "gs_race_publish", race, own, next_stamp)
                if acquires:
                    b.store(latest, time)
                race.released_at = latest
                b.store(b.insert(learnt, stamp, own), row, align=4)
                b.store(stamp, entry(b, race.field("current"), own))
                b.call("void", "gs_stamp_enter", race, stamp, own)
            if device:
                b.call("void", "gs_team_sync", warp)


def _race_learn(m: IrModule) -> None:
    type_ = wide("i32")
    with m.function("void", "gs_race_learn", "warp* warp") as (b, (warp,)):
        b.call("void", "gs_lanes_learn", warp)
        race = warp.block.race
        with b.if_(race != NULL):
            own = warp.warp
            row, time = row_of(b, race, own), entry(b, race.field("acquired"), own)
            merged = b.intrinsic("umax", b.load(type_, row, align=4), b.load(type_, race.field("released"), align=4))
            b.store(merged, row, align=4)
            b.store(b.intrinsic("umax", b.load("i32", time), race.released_at), time)


def plane_of(b: Builder, race: Record, name: str, unit: Value) -> Value:
    """The entry of a unit of shared memory in a plane."""
    words = b.resize(race.words, "i64")
    start = words * (4 * PLANES.index(name))
    return b.offset(b.offset(b.offset(race, RACE.size), start), unit * 4)


def _race_access(m: IrModule, kind: str) -> None:
    """Checks each unit that an active lane touches, by half-warps: a run of units, one unit, or lane by lane."""
    head = ("warp* warp", "i32 site", "i32 mask", f"{wide('i32')} address", "i32 size")
    with m.function("void", f"gs_race_{kind}", *head) as (b, (warp, site, mask, address, size)):
        race = warp.block.race
        with b.if_(~(race != NULL)):
            b.ret()
        shift = race.shift
        unit = address >> b.splat(shift)
        count, at = size >> shift, b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            j = b.load("i32", at)
            b.break_if(j >= count, done)
            b.store(j + 1, at)
            b.call("void", f"gs_race_units_{kind}", warp, race, site, mask, unit + b.splat(j))
    _race_units(m, kind)


def _race_units(m: IrModule, kind: str) -> None:
    head = ("warp* warp", "race* race", "i32 site", "i32 mask", f"{wide('i32')} unit")
    with m.function("void", f"gs_race_units_{kind}", *head) as (b, (warp, race, site, mask, unit)):
        own = warp.warp
        limit = race.words
        me = (site << 16) | (own << 8)
        for half in range(2):
            if half and kind == "load":  # halves that read the same units, as two rows of a 16-wide tile do, read once
                low, high = (b.shuffle(unit, [HALF * h + i for i in range(HALF)]) for h in range(2))
                twice = (mask == -1) & _all(b, high - low, [0] * HALF)
                with b.if_(twice):
                    b.ret()
            part = mask & (0xFFFF << (16 * half))
            units = b.shuffle(unit, [HALF * half + i for i in range(HALF)])
            first = b.extract(units, 0)
            distance = units - b.splat(first, HALF)
            run, single, slow, over = (b.new_label(x) for x in ("run", "one", "slow", "over"))
            is_full = part == (0xFFFF << (16 * half))
            inside = first + HALF <= limit
            consecutive = is_full & inside & _all(b, distance, range(HALF))
            b.branch(consecutive, run, single)
            b.start(run)
            quick = _run_of_units(b, kind, race, first, own, me, half)
            b.branch(quick, over, slow)
            b.start(single)
            alone = b.new_label("alone")
            b.branch(is_full & _all(b, distance, [0] * HALF), alone, slow)
            b.start(alone)
            with b.if_(first < limit, likely=True):
                quick = _single_unit(b, kind, race, first, own, me | (HALF * half))
                with b.if_(~quick):
                    b.call("void", f"gs_race_lanes_{kind}", warp, race, site, i32(1 << HALF * half), unit)
            b.jump(over)
            b.start(slow)
            b.call("void", f"gs_race_lanes_{kind}", warp, race, site, part, unit)
            b.jump(over)
            b.start(over)
    _race_lanes(m, kind)


def _single_unit(b: Builder, kind: str, race: Record, unit: Value, own: Value, who: Value) -> Value:
    """A unit that all lanes name: as below."""
    at = b.resize(unit, "i64")
    floor = b.load("i32", entry(b, race.field("floor"), own))
    plane = {name: plane_of(b, race, name, at) for name in PLANES}
    suspect = constant("i1", False)
    if kind == "load":
        suspect = b.load("i32", plane["written"]) < before_block(b, race)  # never written
    for when, before in _CONFLICTS[kind]:
        late = b.load("i32", plane[when]) > floor
        foreign = warp_of(b, b.load("i32", plane[before])) != own
        suspect |= late & foreign
    fine = ~suspect
    with b.if_(fine, likely=True):
        now, reader = ("read", "reader") if kind == "load" else ("written", "writer")
        if kind == "load":
            last = b.load("i32", plane[reader])
            with b.if_(warp_of(b, last) != own):
                b.store(b.load("i32", plane[now]), plane["read_before"])
                b.store(last, plane["reader_before"])
        b.store(clock_of(b, race, own), plane[now])
        b.store(who, plane[reader])
    return fine


_CONFLICTS = {
    "load": (("written", "writer"),),
    "store": (("written", "writer"), ("read", "reader"), ("read_before", "reader_before")),
}
"""The planes that an access is held against."""


def _all(b: Builder, distance: Value, lanes_needed: Iterable[int]) -> Value:
    equal = distance == vector_constant("i32", list(lanes_needed))
    return b.bitcast(equal, f"i{HALF}") == -1


def _run_of_units(b: Builder, kind: str, race: Record, first: Value, own: Value, me: Value, half: int) -> Value:
    """Sixteen units in a row: records the access and gives true, or gives false where something may be unordered."""
    type_ = f"<{HALF} x i32>"
    at = b.resize(first, "i64")
    floor = b.load("i32", b.offset(race.field("floor"), b.resize(own, "i64") * 4))
    plane = {name: plane_of(b, race, name, at) for name in PLANES}
    mine = b.splat(own, HALF)
    suspect = constant(f"<{HALF} x i1>", False)
    if kind == "load":
        written = b.load(type_, plane["written"], align=4)
        suspect = written < b.splat(before_block(b, race), HALF)  # never written
    for when, who in _CONFLICTS[kind]:
        late = b.load(type_, plane[when], align=4) > b.splat(floor, HALF)
        foreign = warp_of(b, b.load(type_, plane[who], align=4)) != mine
        suspect |= late & foreign
    fine = b.bitcast(suspect, f"i{HALF}") == 0
    with b.if_(fine, likely=True):
        clock = b.splat(clock_of(b, race, own), HALF)
        lanes = vector_constant("i32", [HALF * half + i for i in range(HALF)])
        who_now = b.splat(me, HALF) | lanes
        if kind == "load":
            last = b.load(type_, plane["reader"], align=4)
            moved = warp_of(b, last) != mine
            with b.if_(b.bitcast(moved, f"i{HALF}") != 0):
                for now, before in (("read", "read_before"), ("reader", "reader_before")):
                    previous = b.load(type_, plane[before], align=4)
                    b.store(b.select(moved, b.load(type_, plane[now], align=4), previous), plane[before], align=4)
        names = ("read", "reader") if kind == "load" else ("written", "writer")
        b.store(clock, plane[names[0]], align=4)
        b.store(who_now, plane[names[1]], align=4)
    return fine


def before_block(b: Builder, race: Record) -> Value:
    """The stamp of what a block had before it began: what was last written earlier, the block has not written."""
    return race.first - 1


def clock_of(b: Builder, race: Record, own: Value) -> Value:
    return b.load("i32", entry(b, race.field("current"), own))


def _race_lanes(m: IrModule, kind: str) -> None:
    """Exactly, one unit after the other; lanes of one warp that touch one unit are one access."""
    head = ("warp* warp", "race* race", "i32 site", "i32 mask", f"{wide('i32')} unit")
    with m.function("void", f"gs_race_lanes_{kind}", *head) as (b, (warp, race, site, mask, unit)):
        own = warp.warp
        me = (site << 16) | (own << 8)
        row, clock, shift = row_of(b, race, own), clock_of(b, race, own), race.shift
        remaining = b.alloca("i32")
        b.store(mask, remaining)
        with b.loop() as done:
            now = b.load("i32", remaining)
            b.break_if(now == 0, done)
            lane = first_lane(b, now)
            lane_unit = b.extract(unit, lane)
            same = b.bitcast(unit == b.splat(lane_unit), "i32")
            b.store(now & ~same, remaining)
            with b.if_(lane_unit < race.words):
                lane_access = LaneAccess(warp, race, row, own, site, lane, shift)
                _touch(b, kind, lane_access, b.resize(lane_unit, "i64"), clock, me | lane)


@dataclass(frozen=True, slots=True)
class LaneAccess:
    """Who touches a unit: a lane, its warp's number `own` and what that knows of the others' clocks, `row`."""

    warp: Record
    race: Record
    row: Value
    own: Value
    site: Value
    lane: Value
    shift: Value


def _touch(b: Builder, kind: str, access: LaneAccess, unit: Value, clock: Value, who: Value) -> None:
    race, own = access.race, access.own
    against(b, access, unit, "written", "writer")
    if kind == "store":
        against(b, access, unit, "read", "reader")
        against(b, access, unit, "read_before", "reader_before")
        b.store(clock, plane_of(b, race, "written", unit))
        b.store(who, plane_of(b, race, "writer", unit))
        return
    written = b.load("i32", plane_of(b, race, "written", unit))
    with b.if_(written < before_block(b, race)):
        race.unset = 1
    read, reader = plane_of(b, race, "read", unit), plane_of(b, race, "reader", unit)
    last = b.load("i32", reader)
    with b.if_(warp_of(b, last) != own):
        b.store(b.load("i32", read), plane_of(b, race, "read_before", unit))
        b.store(last, plane_of(b, race, "reader_before", unit))
    b.store(clock, read)
    b.store(who, reader)


def warp_of(b: Builder, who: Value) -> Value:
    return (who >> 8) & (LANES - 1)


def against(b: Builder, access: LaneAccess, unit: Value, when: str, who: str) -> None:
    """Reports a race where another warp's earlier access is not known to have happened before."""
    race = access.race
    stamp = b.load("i32", plane_of(b, race, when, unit))
    with b.if_(stamp != 0):
        other = b.load("i32", plane_of(b, race, who, unit))
        their = warp_of(b, other)
        acquired = b.load("i32", b.offset(access.row, b.resize(their, "i64") * 4))
        unordered = (stamp > acquired) & (their != access.own)
        with b.if_(unordered):
            kind = i32(FAULT["race"])
            address = unit << b.resize(access.shift, "i64")
            matters = constant("i1", True)
            if when == "written":
                old = b.offset(b.pointer(access.warp.shared), address)
                matters = b.call("i1", "gs_race_silent", race, access.lane, address, old, access.shift) ^ matters
            other_site = other >> 16
            other_thread = other & 0x1FFF
            with b.if_(matters):
                b.call(
                    "void", "gs_report", access.warp, kind, access.site, access.lane, other_site, other_thread, address
                )
