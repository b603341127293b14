"""The observed build's runtime: sectors, wavefronts and bank conflicts of an access, and what it reports."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant, vector_constant, wide
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.lowering.runtime.races import emit_races
from gridstride.virtual.lowering.runtime.silent import emit_silent
from gridstride.virtual.machine.layout import BLOCK, FINDING, LANES, LAUNCH, MAX_FINDINGS, RACE, WARP

BANKS = 32
HALF = LANES // 2


def emit_observe(m: Module) -> None:
    """gs_observe_* for each kind of access, and gs_report, gs_race_barrier, gs_race_sync for the rest."""
    _report(m)
    _count_global(m)
    _count_shared(m)
    emit_races(m)
    emit_silent(m)
    _observe(m)


def _observe(m: Module) -> None:
    """What an observed access calls: counts it and, in shared memory, checks it for races."""
    head = ("ptr warp", "i64 at", "i32 site", "i32 mask")
    with m.function("void", "gs_observe_global", *head, f"{wide('i64')} address", "i32 size") as (b, args):
        warp, at, _, mask, address, size = args
        b.call("void", "gs_count_global", warp, at, mask, address, size)
    for kind in ("load", "store", "sync", "async"):
        result = "i32" if kind == "load" else "void"
        with m.function(result, f"gs_observe_shared_{kind}", *head, f"{wide('i32')} address", "i32 size") as (b, args):
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
            if kind == "load":  # gives whether to ask if something was never written
                race = b.get(b.get(warp, WARP, "block"), BLOCK, "race")
                with b.if_(b.compare("ne", race, Value("null", "ptr"))):
                    b.ret(b.get(race, RACE, "unset"))
                b.ret(i32(0))


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
