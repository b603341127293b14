"""The shared-memory race detector of the observed build.

Races are found by happens-before at the grain of warps: each warp has a vector clock, a barrier joins the clocks of
those that met, and every unit of shared memory remembers its last write and its two last readers (Flanagan and Freund,
"FastTrack", 2009). Lanes of one warp run in lock step here and are not checked against one another.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant, vector_constant, wide
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.machine.layout import BLOCK, FAULT, LANES, PLANES, RACE, WARP

HALF = LANES // 2


def emit_races(m: Module) -> None:
    """gs_race_begin, gs_race_barrier, gs_race_sync, gs_race_load, gs_race_store."""
    _race_clocks(m)
    for kind in ("load", "store"):
        _race_access(m, kind)


def _first(b: Builder, mask: Value) -> Value:
    return b.call("i32", "llvm.cttz.i32", mask, constant("i1", True))


def row_of(b: Builder, race: Value, warp: Value) -> Value:
    return b.offset(b.field(race, RACE, "seen"), b.op("mul", b.resize(warp, "i64"), i64(4 * LANES)))


def _race_clocks(m: Module) -> None:
    vector = wide("i32")
    with m.function("void", "gs_race_begin", "ptr race") as (b, (race,)):
        # A block starts with every clock past all that its slot has seen, so the planes need no clearing.
        clock = b.op("add", b.get(race, RACE, "clock"), i32(1))
        own = b.op("add", clock, i32(1))
        b.put(race, RACE, "clock", own)
        b.put(race, RACE, "begin", clock)
        for number in range(LANES):
            # What a warp does before its first barrier, no other warp knows of.
            row = b.insert(b.splat(clock), own, number)
            b.store(row, b.field(race, RACE, "seen", LANES * number), align=4)
        for field in ("released", "floor", "fenced"):
            b.store(b.splat(clock), b.field(race, RACE, field), align=4)
    with m.function("void", "gs_race_barrier", "ptr race", "i32 members") as (b, (race, members)):
        joined = b.alloca(vector, align=64)
        b.store(constant(vector, 0), joined)
        with b.lanes(members) as w:
            row = b.load(vector, row_of(b, race, w), align=4)
            b.store(b.intrinsic("umax", b.load(vector, joined), row), joined)
        whole = b.load(vector, joined)
        latest = b.op("add", b.call("i32", f"llvm.vector.reduce.umax.v{LANES}i32", whole), i32(1))
        clock = b.get(race, RACE, "clock")
        b.put(race, RACE, "clock", b.intrinsic("umax", clock, latest))
        real = b.compare("ult", vector_constant("i32", range(LANES)), b.splat(b.get(race, RACE, "warps")))
        known = b.select(real, whole, constant(vector, -1))
        floor = b.call("i32", f"llvm.vector.reduce.umin.v{LANES}i32", known)
        with b.lanes(members) as w:
            b.store(b.insert(whole, latest, w), row_of(b, race, w), align=4)
            b.store(floor, b.offset(b.field(race, RACE, "floor"), b.op("mul", b.resize(w, "i64"), i64(4))))
    with m.function("void", "gs_race_sync", "ptr warp") as (b, (warp,)):
        # Release to, and acquire from, one clock for the whole block: order is never missed, a race may be.
        race = b.get(b.get(warp, WARP, "block"), BLOCK, "race")
        with b.if_(_present(b, race)):
            own = b.get(warp, WARP, "warp")
            row, released = row_of(b, race, own), b.field(race, RACE, "released")
            both = b.intrinsic("umax", b.load(vector, row, align=4), b.load(vector, released, align=4))
            b.store(both, released, align=4)
            ahead = b.op("add", b.extract(both, own), i32(1))
            clock = b.get(race, RACE, "clock")
            b.put(race, RACE, "clock", b.intrinsic("umax", clock, ahead))
            b.store(b.insert(both, ahead, own), row, align=4)


def _present(b: Builder, pointer: Value) -> Value:
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
        with b.if_(b.op("xor", _present(b, race), constant("i1", True))):
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
            uniform = b.op("and", whole, _all(b, distance, [0] * HALF))
            single = b.select(uniform, i32(1 << 16 * half), part)
            b.call("void", f"gs_race_lanes_{kind}", warp, race, site, single, unit)
            b.jump(over)
            b.start(slow)
            b.call("void", f"gs_race_lanes_{kind}", warp, race, site, part, unit)
            b.jump(over)
            b.start(over)
    _race_lanes(m, kind)


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
    pairs = [("written", "writer")]
    if kind == "store":
        pairs += [("read", "reader"), ("read_before", "reader_before")]
    for when, who in pairs:
        then = b.load(type_, plane[when], align=4)
        if kind == "load":
            suspect = b.compare("ult", then, b.splat(b.get(race, RACE, "begin"), HALF))  # never written
        late = b.compare("ugt", then, b.splat(floor, HALF))
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


def clock_of(b: Builder, race: Value, own: Value) -> Value:
    return b.load("i32", b.offset(row_of(b, race, own), b.op("mul", b.resize(own, "i64"), i64(4))))


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
            lane = _first(b, now)
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
    _against(b, warp, race, row, unit, "written", "writer", own, site, lane, shift)
    if kind == "store":
        _against(b, warp, race, row, unit, "read", "reader", own, site, lane, shift)
        _against(b, warp, race, row, unit, "read_before", "reader_before", own, site, lane, shift)
        b.store(clock, plane_of(b, race, "written", unit))
        b.store(who, plane_of(b, race, "writer", unit))
        return
    written = b.load("i32", plane_of(b, race, "written", unit))
    with b.if_(b.compare("ult", written, b.get(race, RACE, "begin"))):
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


def _against(
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
                matters = b.op("xor", b.call("i1", "gs_race_silent", warp, race, lane, address), matters)
            there = b.op("lshr", other, i32(16))
            them = b.op("and", other, i32(0x1FFF))
            with b.if_(matters):
                b.call("void", "gs_report", warp, kind, site, lane, there, them, address)
