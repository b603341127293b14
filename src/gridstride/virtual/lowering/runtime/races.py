"""The shared-memory race detector of the observed build.

Races are found by happens-before at the grain of warps: each warp has a vector clock, a barrier joins the clocks of
those that met, and every unit of shared memory remembers its last write and its two last readers (Flanagan and Freund,
"FastTrack", 2009). Lanes of one warp run in lock step here and are not checked against one another.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant, vector_constant, wide
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.lowering.runtime.stamps import entry, row_of
from gridstride.virtual.machine.layout import BLOCK, FAULT, LANES, PLANES, RACE, WARP

HALF = LANES // 2


def emit_races(m: Module) -> None:
    """gs_race_begin, gs_race_barrier, gs_race_meet, gs_race_fence, gs_race_load, gs_race_store."""
    _race_clocks(m)
    for kind in ("load", "store"):
        _race_access(m, kind)


def first_lane(b: Builder, mask: Value) -> Value:
    return b.call("i32", "llvm.cttz.i32", mask, constant("i1", True))


def _race_clocks(m: Module) -> None:
    vector = wide("i32")
    with m.function("void", "gs_race_begin", "ptr race", "ptr shadow", "i64 index") as (b, (race, shadow, index)):
        # A block's stamps come after all that its slot has seen, so the planes need no clearing. The one before its
        # first is nobody's: it stands for what the block had before it began.
        b.put(race, RACE, "shadow", shadow)
        b.put(race, RACE, "block", index)
        b.put(race, RACE, "pending", 0)
        b.put(race, RACE, "unset", 0)
        warps = b.get(race, RACE, "warps")
        before = b.call("i32", "gs_stamps_take", race, b.op("add", warps, i32(1)))
        first, number = b.op("add", before, i32(1)), b.alloca("i32")
        b.put(race, RACE, "first", first)
        b.store(i32(0), number)
        with b.loop() as done:
            w = b.load("i32", number)
            b.break_if(b.compare("uge", w, warps), done)
            b.store(b.op("add", w, i32(1)), number)
            # What a warp does before its first barrier, no other warp knows of.
            own = b.op("add", first, w)
            b.store(b.insert(b.splat(before), own, w), row_of(b, race, w), align=4)
            b.store(own, entry(b, b.field(race, RACE, "current"), w))
            b.call("void", "gs_stamp_enter", race, own, w)
        for field in ("released", "floor", "fenced"):
            b.store(b.splat(before), b.field(race, RACE, field), align=4)
        b.put(race, RACE, "released_at", 0)
        b.store(constant(vector, 0), b.field(race, RACE, "acquired"), align=4)
    with m.function("void", "gs_race_barrier", "ptr race", "i32 members") as (b, (race, members)):
        joined, next_, acquired = b.alloca(vector, align=64), b.alloca("i32"), b.alloca("i32")
        b.store(constant(vector, 0), joined)
        b.store(i32(0), acquired)
        times = b.field(race, RACE, "acquired")
        with b.lanes(members) as w:
            row = b.load(vector, row_of(b, race, w), align=4)
            b.store(b.intrinsic("umax", b.load(vector, joined), row), joined)
            b.store(b.intrinsic("umax", b.load("i32", acquired), b.load("i32", entry(b, times, w))), acquired)
        whole, time = b.load(vector, joined), b.load("i32", acquired)
        first = b.call("i32", "gs_stamps_take", race, b.call("i32", "llvm.ctpop.i32", members))
        b.store(first, next_)
        # All stamps of a warp whose current one is known are known; of another, those up to the last one known.
        real = b.compare("ult", vector_constant("i32", range(LANES)), b.splat(b.get(race, RACE, "warps")))
        current = b.load(vector, b.field(race, RACE, "current"), align=4)
        behind = b.op("and", real, b.compare("ult", whole, current))
        known = b.select(behind, whole, b.splat(b.op("sub", first, i32(1))))
        floor = b.call("i32", f"llvm.vector.reduce.umin.v{LANES}i32", known)
        with b.lanes(members) as w:
            own = b.load("i32", next_)
            b.store(b.op("add", own, i32(1)), next_)
            b.store(b.insert(whole, own, w), row_of(b, race, w), align=4)
            b.store(floor, entry(b, b.field(race, RACE, "floor"), w))
            b.store(time, entry(b, times, w))
            b.store(own, entry(b, b.field(race, RACE, "current"), w))
            b.call("void", "gs_stamp_enter", race, own, w)
    _race_meet(m)


def _race_meet(m: Module) -> None:
    """Release to, and acquire from, one clock for the whole block, and with gs_race_fence for all blocks: so order is
    never missed, a race may be.
    """
    for name, device in (("gs_race_meet", False), ("gs_race_fence", True)):
        with m.function("void", name, "ptr warp") as (b, (warp,)):
            race = b.get(b.get(warp, WARP, "block"), BLOCK, "race")
            with b.if_(present(b, race)):
                own = b.get(warp, WARP, "warp")
                row, released = row_of(b, race, own), b.field(race, RACE, "released")
                type_ = wide("i32")
                both = b.intrinsic("umax", b.load(type_, row, align=4), b.load(type_, released, align=4))
                for place in (row, released):
                    b.store(both, place, align=4)
                ahead = b.call("i32", "gs_stamps_take", race, i32(1))
                after = b.op("add", ahead, i32(1))
                time = entry(b, b.field(race, RACE, "acquired"), own)
                others = b.intrinsic("umax", b.load("i32", time), b.get(race, RACE, "released_at"))
                if device:
                    b.call("void", "gs_race_publish", race, own, after)
                acquired = after if device else others
                b.store(acquired, time)
                b.put(race, RACE, "released_at", acquired)
                b.store(b.insert(both, ahead, own), row, align=4)
                b.store(ahead, entry(b, b.field(race, RACE, "current"), own))
                b.call("void", "gs_stamp_enter", race, ahead, own)
            if device:
                b.call("void", "gs_team_sync", warp)


def present(b: Builder, pointer: Value) -> Value:
    return b.compare("ne", pointer, Value("null", "ptr"))


def plane_of(b: Builder, race: Value, name: str, unit: Value) -> Value:
    """The entry of a unit of shared memory in a plane."""
    words = b.resize(b.get(race, RACE, "words"), "i64")
    start = b.op("mul", words, i64(4 * PLANES.index(name)))
    return b.offset(b.offset(b.offset(race, RACE.size), start), b.op("mul", unit, i64(4)))


def _race_access(m: Module, kind: str) -> None:
    """Checks each unit that an active lane touches, by half-warps: a run of units, one unit, or lane by lane."""
    head = ("ptr warp", "i32 site", "i32 mask", f"{wide('i32')} address", "i32 size")
    with m.function("void", f"gs_race_{kind}", *head) as (b, (warp, site, mask, address, size)):
        race = b.get(b.get(warp, WARP, "block"), BLOCK, "race")
        with b.if_(b.op("xor", present(b, race), constant("i1", True))):
            b.ret()
        shift = b.get(race, RACE, "shift")
        unit = b.op("lshr", address, b.splat(shift))
        each, at = b.op("lshr", size, shift), b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            j = b.load("i32", at)
            b.break_if(b.compare("uge", j, each), done)
            b.store(b.op("add", j, i32(1)), at)
            b.call("void", f"gs_race_units_{kind}", warp, race, site, mask, b.op("add", unit, b.splat(j)))
    _race_units(m, kind)


def _race_units(m: Module, kind: str) -> None:
    head = ("ptr warp", "ptr race", "i32 site", "i32 mask", f"{wide('i32')} unit")
    with m.function("void", f"gs_race_units_{kind}", *head) as (b, (warp, race, site, mask, unit)):
        own = b.get(warp, WARP, "warp")
        limit = b.get(race, RACE, "words")
        me = b.op("or", b.op("shl", site, i32(16)), b.op("shl", own, i32(8)))
        for half in range(2):
            if half and kind == "load":  # halves that read the same units, as two rows of a 16-wide tile do, read once
                low, high = (b.shuffle(unit, [HALF * h + i for i in range(HALF)]) for h in range(2))
                twice = b.op("and", b.compare("eq", mask, i32(-1)), _all(b, b.op("sub", high, low), [0] * HALF))
                with b.if_(twice):
                    b.ret()
            part = b.op("and", mask, i32(0xFFFF << 16 * half))
            units = b.shuffle(unit, [HALF * half + i for i in range(HALF)])
            first = b.extract(units, 0)
            distance = b.op("sub", units, b.splat(first, HALF))
            run, one, slow, over = (b.new_label(x) for x in ("run", "one", "slow", "over"))
            whole = b.compare("eq", part, i32(0xFFFF << 16 * half))
            inside = b.compare("ule", b.op("add", first, i32(HALF)), limit)
            consecutive = b.op("and", b.op("and", whole, inside), _all(b, distance, range(HALF)))
            b.branch(consecutive, run, one)
            b.start(run)
            quick = _run_of_units(b, kind, race, first, own, me, half)
            b.branch(quick, over, slow)
            b.start(one)
            alone = b.new_label("alone")
            b.branch(b.op("and", whole, _all(b, distance, [0] * HALF)), alone, slow)
            b.start(alone)
            with b.if_(b.compare("ult", first, limit), likely=True):
                quick = _one_unit(b, kind, race, first, own, b.op("or", me, i32(HALF * half)))
                with b.if_(b.op("xor", quick, constant("i1", True))):
                    b.call("void", f"gs_race_lanes_{kind}", warp, race, site, i32(1 << HALF * half), unit)
            b.jump(over)
            b.start(slow)
            b.call("void", f"gs_race_lanes_{kind}", warp, race, site, part, unit)
            b.jump(over)
            b.start(over)
    _race_lanes(m, kind)


def _one_unit(b: Builder, kind: str, race: Value, unit: Value, own: Value, who: Value) -> Value:
    """A unit that all lanes name: as below."""
    at = b.resize(unit, "i64")
    floor = b.load("i32", entry(b, b.field(race, RACE, "floor"), own))
    plane = {name: plane_of(b, race, name, at) for name in PLANES}
    suspect = constant("i1", False)
    if kind == "load":
        suspect = b.compare("ult", b.load("i32", plane["written"]), before_block(b, race))  # never written
    for when, before in _CONFLICTS[kind]:
        late = b.compare("ugt", b.load("i32", plane[when]), floor)
        others = b.compare("ne", warp_of(b, b.load("i32", plane[before])), own)
        suspect = b.op("or", suspect, b.op("and", late, others))
    fine = b.op("xor", suspect, constant("i1", True))
    with b.if_(fine, likely=True):
        now, reader = ("read", "reader") if kind == "load" else ("written", "writer")
        if kind == "load":
            last = b.load("i32", plane[reader])
            with b.if_(b.compare("ne", warp_of(b, last), own)):
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


def _all(b: Builder, distance: Value, wanted: Iterable[int]) -> Value:
    equal = b.compare("eq", distance, vector_constant("i32", list(wanted)))
    return b.compare("eq", b.bitcast(equal, f"i{HALF}"), constant(f"i{HALF}", -1))


def _run_of_units(b: Builder, kind: str, race: Value, first: Value, own: Value, me: Value, half: int) -> Value:
    """Sixteen units in a row: records the access and gives true, or gives false where something may be unordered."""
    type_ = f"<{HALF} x i32>"
    at = b.resize(first, "i64")
    floor = b.load("i32", b.offset(b.field(race, RACE, "floor"), b.op("mul", b.resize(own, "i64"), i64(4))))
    plane = {name: plane_of(b, race, name, at) for name in PLANES}
    mine = b.splat(own, HALF)
    suspect = constant(f"<{HALF} x i1>", False)
    if kind == "load":
        written = b.load(type_, plane["written"], align=4)
        suspect = b.compare("ult", written, b.splat(before_block(b, race), HALF))  # never written
    for when, who in _CONFLICTS[kind]:
        late = b.compare("ugt", b.load(type_, plane[when], align=4), b.splat(floor, HALF))
        others = b.compare("ne", warp_of(b, b.load(type_, plane[who], align=4)), mine)
        suspect = b.op("or", suspect, b.op("and", late, others))
    fine = b.compare("eq", b.bitcast(suspect, f"i{HALF}"), constant(f"i{HALF}", 0))
    with b.if_(fine, likely=True):
        clock = b.splat(clock_of(b, race, own), HALF)
        lanes = vector_constant("i32", [HALF * half + i for i in range(HALF)])
        who_now = b.op("or", b.splat(me, HALF), lanes)
        if kind == "load":
            last = b.load(type_, plane["reader"], align=4)
            moved = b.compare("ne", warp_of(b, last), mine)
            with b.if_(b.compare("ne", b.bitcast(moved, f"i{HALF}"), constant(f"i{HALF}", 0))):
                for now, before in (("read", "read_before"), ("reader", "reader_before")):
                    kept = b.load(type_, plane[before], align=4)
                    b.store(b.select(moved, b.load(type_, plane[now], align=4), kept), plane[before], align=4)
        names = ("read", "reader") if kind == "load" else ("written", "writer")
        b.store(clock, plane[names[0]], align=4)
        b.store(who_now, plane[names[1]], align=4)
    return fine


def before_block(b: Builder, race: Value) -> Value:
    """The stamp of what a block had before it began: what was last written earlier, the block has not written."""
    return b.op("sub", b.get(race, RACE, "first"), i32(1))


def clock_of(b: Builder, race: Value, own: Value) -> Value:
    return b.load("i32", entry(b, b.field(race, RACE, "current"), own))


def _race_lanes(m: Module, kind: str) -> None:
    """Exactly, one unit after the other; lanes of one warp that touch one unit are one access."""
    head = ("ptr warp", "ptr race", "i32 site", "i32 mask", f"{wide('i32')} unit")
    with m.function("void", f"gs_race_lanes_{kind}", *head) as (b, (warp, race, site, mask, unit)):
        own = b.get(warp, WARP, "warp")
        me = b.op("or", b.op("shl", site, i32(16)), b.op("shl", own, i32(8)))
        row, clock, shift = row_of(b, race, own), clock_of(b, race, own), b.get(race, RACE, "shift")
        left = b.alloca("i32")
        b.store(mask, left)
        with b.loop() as done:
            now = b.load("i32", left)
            b.break_if(b.compare("eq", now, i32(0)), done)
            lane = first_lane(b, now)
            one = b.extract(unit, lane)
            same = b.bitcast(b.compare("eq", unit, b.splat(one)), "i32")
            b.store(b.op("and", now, b.op("xor", same, i32(-1))), left)
            with b.if_(b.compare("ult", one, b.get(race, RACE, "words"))):
                _touch(b, kind, warp, race, row, b.resize(one, "i64"), clock, me, own, site, lane, shift)


def _touch(
    b: Builder, kind: str, warp: Value, race: Value, row: Value, unit: Value, clock: Value, me: Value, own: Value,
    site: Value, lane: Value, shift: Value,
) -> None:  # fmt: skip
    who = b.op("or", me, lane)
    against(b, warp, race, row, unit, "written", "writer", own, site, lane, shift)
    if kind == "store":
        against(b, warp, race, row, unit, "read", "reader", own, site, lane, shift)
        against(b, warp, race, row, unit, "read_before", "reader_before", own, site, lane, shift)
        b.store(clock, plane_of(b, race, "written", unit))
        b.store(who, plane_of(b, race, "writer", unit))
        return
    written = b.load("i32", plane_of(b, race, "written", unit))
    with b.if_(b.compare("ult", written, before_block(b, race))):
        b.put(race, RACE, "unset", 1)
    read, reader = plane_of(b, race, "read", unit), plane_of(b, race, "reader", unit)
    last = b.load("i32", reader)
    with b.if_(b.compare("ne", warp_of(b, last), own)):
        b.store(b.load("i32", read), plane_of(b, race, "read_before", unit))
        b.store(last, plane_of(b, race, "reader_before", unit))
    b.store(clock, read)
    b.store(who, reader)


def warp_of(b: Builder, who: Value) -> Value:
    return b.op("and", b.op("lshr", who, constant(who.type, 8)), constant(who.type, LANES - 1))


def against(
    b: Builder, warp: Value, race: Value, row: Value, unit: Value, when: str, who: str, own: Value, site: Value,
    lane: Value, shift: Value,
) -> None:  # fmt: skip
    """Reports a race where another warp's earlier access is not known to have happened before."""
    then = b.load("i32", plane_of(b, race, when, unit))
    with b.if_(b.compare("ne", then, i32(0))):
        other = b.load("i32", plane_of(b, race, who, unit))
        their = warp_of(b, other)
        known = b.load("i32", b.offset(row, b.op("mul", b.resize(their, "i64"), i64(4))))
        unordered = b.op("and", b.compare("ugt", then, known), b.compare("ne", their, own))
        with b.if_(unordered):
            kind = i32(FAULT["race"])
            address = b.op("shl", unit, b.resize(shift, "i64"))
            matters = constant("i1", True)
            if when == "written":
                old = b.offset(b.pointer(b.get(warp, WARP, "shared")), address)
                matters = b.op("xor", b.call("i1", "gs_race_silent", race, lane, address, old, shift), matters)
            there = b.op("lshr", other, i32(16))
            them = b.op("and", other, i32(0x1FFF))
            with b.if_(matters):
                b.call("void", "gs_report", warp, kind, site, lane, there, them, address)
