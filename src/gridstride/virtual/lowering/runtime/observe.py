"""The observed build's runtime: sectors, wavefronts and bank conflicts of an access, and races in shared memory.

Races are found by happens-before at the grain of warps: each warp has a vector clock, a barrier joins the clocks of
those that met, and every unit of shared memory remembers its last write and its two last readers (Flanagan and Freund,
"FastTrack", 2009). Lanes of one warp run in lock step here and are not checked against one another.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant, vector_constant, wide
from gridstride.virtual.lowering.runtime.scheduler import i32, i64
from gridstride.virtual.lowering.runtime.silent import emit_silent
from gridstride.virtual.machine.layout import (
    BLOCK,
    FAULT,
    FINDING,
    LANES,
    LAUNCH,
    MAX_FINDINGS,
    PLANES,
    RACE,
    WARP,
)

BANKS = 32
HALF = LANES // 2


def emit_observe(m: Module) -> None:
    """gs_observe_* for each kind of access, and gs_report, gs_race_barrier, gs_race_sync for the rest."""
    _report(m)
    _count_global(m)
    _count_shared(m)
    _race_clocks(m)
    emit_silent(m)
    for kind in ("load", "store"):
        _race_access(m, kind)
    _observe(m)


def _observe(m: Module) -> None:
    """What an observed access calls: counts it and, in shared memory, checks it for races."""
    head = ("ptr warp", "i64 at", "i32 site", "i32 mask")
    with m.function("void", "gs_observe_global", *head, f"{wide('i64')} address", "i32 size") as (b, args):
        warp, at, _, mask, address, size = args
        b.call("void", "gs_count_global", warp, at, mask, address, size)
    for kind in ("load", "store", "sync", "async"):
        with m.function("void", f"gs_observe_shared_{kind}", *head, f"{wide('i32')} address", "i32 size") as (b, args):
            warp, at, site, mask, address, size = args
            b.call("void", "gs_count_shared", warp, at, mask, address, size, constant("i1", kind == "load"))
            if kind == "sync":
                b.call("void", "gs_race_sync", warp)
            elif kind != "async":  # those are checked when they land
                store = i32(int(kind == "store"))
                b.call("void", "gs_copies_check", warp, site, mask, address, size, store)
                b.call("void", f"gs_race_{kind}", warp, site, mask, address, size)
            if kind == "store":
                b.call("void", "gs_race_stored", warp)


# -- counting ---------------------------------------------------------------------------------------------------------
def _bump(b: Builder, warp: Value, at: Value, index: int, by: Value) -> None:
    counter = b.offset(b.offset(b.get(warp, WARP, "counters"), at), 8 * index)
    b.store(b.op("add", b.load("i64", counter), b.resize(by, "i64")), counter)


def _popcount(b: Builder, mask: Value) -> Value:
    return b.call("i32", "llvm.ctpop.i32", mask)


def _first(b: Builder, mask: Value) -> Value:
    return b.call("i32", "llvm.cttz.i32", mask, constant("i1", True))


def _distinct(b: Builder, keys: Value, mask: Value) -> Value:
    """How many different keys the lanes of the mask have."""
    count, left = b.alloca("i32"), b.alloca("i32")
    # Keys that never fall from lane to lane, the usual case, are counted by where they change.
    before = b.shuffle(keys, [0, *range(LANES - 1)])
    full = b.compare("eq", mask, i32(-1))
    rising = b.compare("eq", b.bitcast(b.compare("uge", keys, before), "i32"), i32(-1))
    steps = _popcount(b, b.bitcast(b.compare("ne", keys, before), "i32"))
    b.store(b.op("add", steps, i32(1)), count)
    with b.if_(b.op("xor", b.op("and", full, rising), constant("i1", True))):
        b.store(i32(0), count)
        b.store(mask, left)
        with b.loop() as done:
            now = b.load("i32", left)
            b.break_if(b.compare("eq", now, i32(0)), done)
            key = b.extract(keys, _first(b, now))
            same = b.bitcast(b.compare("eq", keys, b.splat(key)), "i32")
            b.store(b.op("and", now, b.op("xor", same, i32(-1))), left)
            b.store(b.op("add", b.load("i32", count), i32(1)), count)
    return b.load("i32", count)


def _count_global(m: Module) -> None:
    head = ("ptr warp", "i64 at", "i32 mask", f"{wide('i64')} address", "i32 size")
    with m.function("void", "gs_count_global", *head) as (b, (warp, at, mask, address, size)):
        _unless_idle(b, mask)
        _bump(b, warp, at, 0, i32(1))
        _bump(b, warp, at, 1, _distinct(b, b.op("lshr", address, constant(address.type, 5)), mask))
        _bump(b, warp, at, 2, _distinct(b, b.op("lshr", address, constant(address.type, 7)), mask))
        lanes = _popcount(b, mask)
        used = b.op("add", b.op("mul", lanes, size), i32(31))
        _bump(b, warp, at, 4, b.op("lshr", used, i32(5)))
        _bump(b, warp, at, 5, lanes)


def _unless_idle(b: Builder, mask: Value) -> None:
    """Returns where no lane executes the access."""
    with b.if_(b.compare("eq", mask, i32(0))):
        b.ret()


def _count_shared(m: Module) -> None:
    """Wavefronts: the most 4-byte words that one bank must give, for each part of the warp that moves 128 bytes.

    Two parts of a load are one where every lane shares its address with the next lane, or with the one after that: seen
    on an H200 (tests/virtual/fixtures/access_patterns_h200.json), for 8 and 16 bytes and not for stores.
    """
    head = ("ptr warp", "i64 at", "i32 mask", f"{wide('i32')} address", "i32 size", "i1 loads")
    with m.function("void", "gs_count_shared", *head) as (b, (warp, at, mask, address, size, loads)):
        _unless_idle(b, mask)
        _bump(b, warp, at, 0, i32(1))
        lanes = _popcount(b, mask)
        _bump(b, warp, at, 5, lanes)
        words = b.op("lshr", b.op("add", size, i32(3)), i32(2))
        per_part = b.op("udiv", i32(LANES), words)
        twins = b.op("or", _twins(b, mask, address, 1), _twins(b, mask, address, 2))
        merged = b.op("and", b.op("and", loads, twins), b.compare("ugt", words, i32(1)))
        per_part = b.op("shl", per_part, b.resize(merged, "i32"))
        total, ideal, start = b.alloca("i32"), b.alloca("i32"), b.alloca("i32")
        for slot in (total, ideal, start):
            b.store(i32(0), slot)
        ones = b.op("lshr", i32(-1), b.op("sub", i32(LANES), per_part))
        with b.loop() as done:
            first = b.load("i32", start)
            b.break_if(b.compare("uge", first, i32(LANES)), done)
            part = b.op("and", mask, b.op("shl", ones, first))
            with b.if_(b.compare("ne", part, i32(0))):
                fronts = b.call("i32", "gs_wavefronts", part, address, words)
                b.store(b.op("add", b.load("i32", total), fronts), total)
                b.store(b.op("add", b.load("i32", ideal), i32(1)), ideal)
            b.store(b.op("add", first, per_part), start)
        _bump(b, warp, at, 3, b.load("i32", total))
        _bump(b, warp, at, 4, b.load("i32", ideal))
    _wavefronts(m)


def _twins(b: Builder, mask: Value, address: Value, apart: int) -> Value:
    """An i1: every active lane has the address of the lane whose number differs in one bit, where that is active."""
    order = [i ^ apart for i in range(LANES)]
    active = b.bitcast(mask, wide("i1"))
    both = b.op("and", active, b.shuffle(active, order))
    differs = b.op("and", both, b.compare("ne", address, b.shuffle(address, order)))
    return b.compare("eq", b.bitcast(differs, "i32"), i32(0))


def _wavefronts(m: Module) -> None:
    with m.function("i32", "gs_wavefronts", "i32 part", f"{wide('i32')} address", "i32 words") as (
        b,
        (part, address, words),
    ):
        word = b.op("lshr", address, constant(address.type, 2))
        distance = b.op("sub", word, b.splat(b.extract(word, 0)))
        row = b.bitcast(b.compare("eq", distance, vector_constant("i32", range(LANES))), "i32")
        single = b.compare("eq", words, i32(1))
        with b.if_(b.op("and", b.compare("eq", row, i32(-1)), single)):
            b.ret(i32(1))
        # Half-warps that read the same words, as two rows of a 16-wide tile do, are one half-warp.
        low, high = (b.shuffle(word, [HALF * h + i for i in range(HALF)]) for h in range(2))
        equal = b.compare("eq", b.bitcast(b.compare("eq", low, high), f"i{HALF}"), constant(f"i{HALF}", -1))
        twice = b.op("and", equal, b.compare("eq", part, i32(-1)))
        start = b.compare("eq", b.op("and", row, i32(0xFFFF)), i32(0xFFFF))
        with b.if_(b.op("and", b.op("and", twice, start), single)):
            b.ret(i32(1))
        part = b.select(twice, i32(0xFFFF), part)
        load, most, left, offset = b.alloca("[32 x i8]"), b.alloca("i32"), b.alloca("i32"), b.alloca("i32")
        b.emit(f"store [32 x i8] zeroinitializer, ptr {load.name}")
        for slot in (most, offset):
            b.store(i32(0), slot)
        b.store(part, left)
        with b.loop() as done:
            now = b.load("i32", left)
            b.break_if(b.compare("eq", now, i32(0)), done)
            key = b.extract(word, _first(b, now))
            same = b.bitcast(b.compare("eq", word, b.splat(key)), "i32")
            b.store(b.op("and", now, b.op("xor", same, i32(-1))), left)
            b.store(i32(0), offset)
            with b.loop() as row_done:
                j = b.load("i32", offset)
                b.break_if(b.compare("uge", j, words), row_done)
                bank = b.op("and", b.op("add", key, j), i32(BANKS - 1))
                counter = b.offset(load, b.resize(bank, "i64"))
                more = b.op("add", b.load("i8", counter), constant("i8", 1))
                b.store(more, counter)
                high = b.resize(more, "i32")
                b.store(b.intrinsic("umax", b.load("i32", most), high), most)
                b.store(b.op("add", j, i32(1)), offset)
        b.ret(b.load("i32", most))


# -- findings ---------------------------------------------------------------------------------------------------------
def _report(m: Module) -> None:
    """Adds a finding that does not stop the launch. `who` is warp << 8 | lane of the other side."""
    head = ("ptr warp", "i32 kind", "i32 site", "i32 lane", "i32 other", "i32 who", "i64 address")
    with m.function("void", "gs_report", *head, cold=True) as (b, (warp, kind, site, lane, other, who, address)):
        launch = b.get(warp, WARP, "launch")
        counter = b.field(launch, LAUNCH, "finding_count")
        index = b.define("i32", f"atomicrmw add ptr {counter.name}, i32 1 seq_cst")
        with b.if_(b.compare("ult", index, i32(MAX_FINDINGS))):
            record = b.offset(b.get(launch, LAUNCH, "findings"), b.op("mul", b.resize(index, "i64"), i64(FINDING.size)))
            fields = {"kind": kind, "site": site, "lane": lane, "other_site": other, "address": address,
                      "warp": b.get(warp, WARP, "warp"), "other_warp": b.op("lshr", who, i32(8)),
                      "other_lane": b.op("and", who, i32(255))}  # fmt: skip
            for name, value in fields.items():
                b.put(record, FINDING, name, value)
            for axis in range(3):
                b.put(record, FINDING, "ctaid", b.get(warp, WARP, "ctaid", axis), axis)


# -- clocks -----------------------------------------------------------------------------------------------------------
def _row(b: Builder, race: Value, warp: Value) -> Value:
    return b.offset(b.field(race, RACE, "seen"), b.op("mul", b.resize(warp, "i64"), i64(4 * LANES)))


def _race_clocks(m: Module) -> None:
    vector = wide("i32")
    with m.function("void", "gs_race_begin", "ptr race") as (b, (race,)):
        # A block starts with every clock past all that its slot has seen, so the planes need no clearing.
        clock = b.op("add", b.get(race, RACE, "clock"), i32(1))
        own = b.op("add", clock, i32(1))
        b.put(race, RACE, "clock", own)
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
            row = b.load(vector, _row(b, race, w), align=4)
            b.store(b.intrinsic("umax", b.load(vector, joined), row), joined)
        whole = b.load(vector, joined)
        latest = b.op("add", b.call("i32", f"llvm.vector.reduce.umax.v{LANES}i32", whole), i32(1))
        clock = b.get(race, RACE, "clock")
        b.put(race, RACE, "clock", b.intrinsic("umax", clock, latest))
        real = b.compare("ult", vector_constant("i32", range(LANES)), b.splat(b.get(race, RACE, "warps")))
        known = b.select(real, whole, constant(vector, -1))
        floor = b.call("i32", f"llvm.vector.reduce.umin.v{LANES}i32", known)
        with b.lanes(members) as w:
            b.store(b.insert(whole, latest, w), _row(b, race, w), align=4)
            b.store(floor, b.offset(b.field(race, RACE, "floor"), b.op("mul", b.resize(w, "i64"), i64(4))))
    with m.function("void", "gs_race_sync", "ptr warp") as (b, (warp,)):
        # Release to, and acquire from, one clock for the whole block: order is never missed, a race may be.
        race = b.get(b.get(warp, WARP, "block"), BLOCK, "race")
        with b.if_(_present(b, race)):
            own = b.get(warp, WARP, "warp")
            row, released = _row(b, race, own), b.field(race, RACE, "released")
            both = b.intrinsic("umax", b.load(vector, row, align=4), b.load(vector, released, align=4))
            b.store(both, released, align=4)
            ahead = b.op("add", b.extract(both, own), i32(1))
            clock = b.get(race, RACE, "clock")
            b.put(race, RACE, "clock", b.intrinsic("umax", clock, ahead))
            b.store(b.insert(both, ahead, own), row, align=4)


def _present(b: Builder, pointer: Value) -> Value:
    return b.compare("ne", pointer, Value("null", "ptr"))


# -- accesses ---------------------------------------------------------------------------------------------------------
def _plane(b: Builder, race: Value, name: str, unit: Value) -> Value:
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
    plane = {name: _plane(b, race, name, at) for name in PLANES}
    mine = b.splat(own, HALF)
    suspect = constant(f"<{HALF} x i1>", False)
    pairs = [("written", "writer")]
    if kind == "store":
        pairs += [("read", "reader"), ("read_before", "reader_before")]
    for when, who in pairs:
        late = b.compare("ugt", b.load(type_, plane[when], align=4), b.splat(floor, HALF))
        others = b.compare("ne", _warp_of(b, b.load(type_, plane[who], align=4)), mine)
        suspect = b.op("or", suspect, b.op("and", late, others))
    fine = b.compare("eq", b.bitcast(suspect, f"i{HALF}"), constant(f"i{HALF}", 0))
    with b.if_(fine, likely=True):
        clock = b.splat(_clock(b, race, own), HALF)
        lanes = vector_constant("i32", [HALF * half + i for i in range(HALF)])
        who_now = b.op("or", b.splat(me, HALF), lanes)
        if kind == "load":
            last = b.load(type_, plane["reader"], align=4)
            moved = b.compare("ne", _warp_of(b, last), mine)
            with b.if_(b.compare("ne", b.bitcast(moved, f"i{HALF}"), constant(f"i{HALF}", 0))):
                for now, before in (("read", "read_before"), ("reader", "reader_before")):
                    kept = b.load(type_, plane[before], align=4)
                    b.store(b.select(moved, b.load(type_, plane[now], align=4), kept), plane[before], align=4)
        names = ("read", "reader") if kind == "load" else ("written", "writer")
        b.store(clock, plane[names[0]], align=4)
        b.store(who_now, plane[names[1]], align=4)
    return fine


def _clock(b: Builder, race: Value, own: Value) -> Value:
    return b.load("i32", b.offset(_row(b, race, own), b.op("mul", b.resize(own, "i64"), i64(4))))


def _race_lanes(m: Module, kind: str) -> None:
    """Exactly, one unit after the other; lanes of one warp that touch one unit are one access."""
    head = ("ptr warp", "ptr race", "i32 site", "i32 mask", f"{wide('i32')} unit")
    with m.function("void", f"gs_race_lanes_{kind}", *head) as (b, (warp, race, site, mask, unit)):
        own = b.get(warp, WARP, "warp")
        me = b.op("or", b.op("shl", site, i32(16)), b.op("shl", own, i32(8)))
        row, clock, shift = _row(b, race, own), _clock(b, race, own), b.get(race, RACE, "shift")
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
        b.store(clock, _plane(b, race, "written", unit))
        b.store(who, _plane(b, race, "writer", unit))
        return
    read, reader = _plane(b, race, "read", unit), _plane(b, race, "reader", unit)
    last = b.load("i32", reader)
    with b.if_(b.compare("ne", _warp_of(b, last), own)):
        b.store(b.load("i32", read), _plane(b, race, "read_before", unit))
        b.store(last, _plane(b, race, "reader_before", unit))
    b.store(clock, read)
    b.store(who, reader)


def _warp_of(b: Builder, who: Value) -> Value:
    return b.op("and", b.op("lshr", who, constant(who.type, 8)), constant(who.type, LANES - 1))


def _against(
    b: Builder, warp: Value, race: Value, row: Value, unit: Value, when: str, who: str, own: Value, site: Value,
    lane: Value, shift: Value,
) -> None:  # fmt: skip
    """Reports a race where another warp's earlier access is not known to have happened before."""
    then = b.load("i32", _plane(b, race, when, unit))
    with b.if_(b.compare("ne", then, i32(0))):
        other = b.load("i32", _plane(b, race, who, unit))
        their = _warp_of(b, other)
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
