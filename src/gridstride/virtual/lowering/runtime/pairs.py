"""What is told of races in global memory: one finding for each pair of sites, and how often there was one."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.lowering.runtime.stamps import event_of
from gridstride.virtual.machine.layout import (
    EVENT,
    FAULT,
    FINDING,
    LANES,
    LAUNCH,
    MAX_FINDINGS,
    PAIR,
    PAIRS,
    SHADOW,
    WARP,
)

_TRIES = 8
SITES = (1 << 28) - 1
GLOBAL_RACE = 127
"""A race in global memory among the kinds of findings, by which they are counted."""


def pair_key(site: int, other: int) -> int:
    """The key under which races in global memory between two sites are counted."""
    return GLOBAL_RACE << 56 | site << 28 | other


def emit_pairs(m: Module) -> None:
    """gs_global_report: counts a race between the accesses of two entries; the first of its pair becomes a finding."""
    _count(m)
    head = ("ptr warp", "i64 mine", "i64 theirs", "i64 address", "i32 writes")
    with m.function("void", "gs_global_report", *head, cold=True) as (b, (warp, mine, theirs, address, writes)):
        launch = b.get(warp, WARP, "launch")
        shadow = b.get(launch, LAUNCH, "shadow")
        here, there = (b.op("and", b.op("lshr", r, i64(8)), i64(0xFFFFFF)) for r in (mine, theirs))
        kind, pair = i32(GLOBAL_RACE), [b.resize(site, "i32") for site in (here, there)]
        with b.if_(new_pair(b, launch, kind, *pair)):
            stamp = b.resize(b.op("lshr", theirs, i64(32)), "i32")
            event = event_of(b, shadow, b.op("sub", stamp, b.get(shadow, SHADOW, "base")))
            who = b.get(event, EVENT, "who")
            values = {"kind": i32(FAULT["race"]), "space": i32(1), "writes": writes, "address": address,
                      "site": pair[0], "other_site": pair[1],
                      "lane": _lane(b, mine), "other_lane": _lane(b, theirs),
                      "warp": b.get(warp, WARP, "warp"), "other_block": b.op("lshr", who, i64(5)),
                      "other_warp": b.op("and", b.resize(who, "i32"), i32(LANES - 1))}  # fmt: skip
            _add(b, warp, launch, values)


def new_pair(b: Builder, launch: Value, kind: Value, site: Value, other: Value) -> Value:
    """Counts a finding of a kind between two sites; an i1, true for the first one."""
    pairs = b.get(b.get(launch, LAUNCH, "shadow"), SHADOW, "pairs")
    long = [b.resize(v, "i64") for v in (kind, b.op("and", site, i32(SITES)), b.op("and", other, i32(SITES)))]
    key = b.op("or", b.op("shl", long[0], i64(56)), b.op("or", b.op("shl", long[1], i64(28)), long[2]))
    return b.call("i1", "gs_pair_count", pairs, key)


def _lane(b: Builder, record: Value) -> Value:
    return b.op("and", b.resize(record, "i32"), i32(LANES - 1))


def _add(b: Builder, warp: Value, launch: Value, values: dict[str, Value]) -> None:
    counter = b.field(launch, LAUNCH, "finding_count")
    index = b.define("i32", f"atomicrmw add ptr {counter.name}, i32 1 seq_cst")
    with b.if_(b.compare("ult", index, i32(MAX_FINDINGS))):
        place = b.op("mul", b.resize(index, "i64"), i64(FINDING.size))
        record = b.offset(b.get(launch, LAUNCH, "findings"), place)
        for name, value in values.items():
            b.put(record, FINDING, name, value)
        for axis in range(3):
            b.put(record, FINDING, "ctaid", b.get(warp, WARP, "ctaid", axis), axis)


def _count(m: Module) -> None:
    """Counts a pair; true for a pair's first one. A pair that finds no place in the table is not told."""
    with m.function("i1", "gs_pair_count", "ptr pairs", "i64 key", cold=True) as (b, (pairs, key)):
        # Fibonacci hashing (Knuth, TAOCP 6.4): the upper bits of a product with 2^64 over the golden ratio.
        hash_ = b.op("lshr", b.op("mul", key, i64(0x9E3779B97F4A7C15)), i64(64 - (PAIRS.bit_length() - 1)))
        for step in range(_TRIES):
            index = b.op("and", b.op("add", hash_, i64(step)), i64(PAIRS - 1))
            place = b.offset(pairs, b.op("mul", index, i64(PAIR.size)))
            result = b.define("{ i64, i1 }", f"cmpxchg ptr {place.name}, i64 0, {key!r} seq_cst seq_cst")
            found = b.define("i64", f"extractvalue {result!r}, 0")
            new = b.define("i1", f"extractvalue {result!r}, 1")
            with b.if_(b.op("or", new, b.compare("eq", found, key))):
                counter = b.field(place, PAIR, "count")
                b.define("i64", f"atomicrmw add ptr {counter.name}, i64 1 monotonic")
                b.ret(new)
        b.ret(constant("i1", False))
