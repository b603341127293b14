"""What is told of races in global memory: one finding for each pair of sites, and how often there was one."""

from __future__ import annotations

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.finding_records import (
    FINDING,
    GLOBAL_RACE,
    GLOBAL_RACE_OF_LANES,
    MAX_FINDINGS,
    PAIRS,
    SINGLE_LANE_WAIT,
)
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import SITE_BIT
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.sanitize.clocks import event_of

_TRIES = 8
_SITES_OF_ENTRY = (1 << 32 - SITE_BIT) - 1
SITES = (1 << 28) - 1


def emit_pairs(m: IrModule) -> None:
    """gs_global_report: counts a race between the accesses of two entries, or what else is of a `kind`; the first of
    its pair becomes a finding. `writes`: 1 where `mine` does, and SINGLE_LANE_WAIT.
    """
    _count(m)
    head = ("warp* warp", "i32 kind", "i64 mine", "i64 theirs", "i64 address", "i32 writes")
    with m.function("void", "gs_global_report", *head, cold=True) as (b, (warp, kind, mine, theirs, address, writes)):
        launch = warp.launch
        shadow = launch.shadow
        own_site, other_site = ((r >> SITE_BIT) & _SITES_OF_ENTRY for r in (mine, theirs))
        pair = [b.resize(site, "i32") for site in (own_site, other_site)]
        index = b.resize(theirs >> 32, "i32") - shadow.base
        with b.if_(index >= shadow.event_limit):
            b.ret()  # nobody knows whose it was
        who = event_of(b, shadow, index).who
        block, other = who >> 5, b.resize(who, "i32") & (LANES - 1)
        race, own = warp.block.race, warp.warp
        alone = (block == race.block) & (other == own)
        races = b.select(alone, i32(GLOBAL_RACE_OF_LANES), i32(GLOBAL_RACE))
        told_as = b.select(kind == FAULT["race"], races, kind)
        with b.if_(new_pair(b, launch, told_as, *pair)):
            values = {"kind": kind, "space": i32(1), "writes": writes & 1, "address": address,
                      "site": pair[0], "other_site": pair[1],
                      "lane": _lane(b, mine), "other_lane": _lane(b, theirs) | (writes & SINGLE_LANE_WAIT),
                      "warp": own, "other_block": block, "other_warp": other}  # fmt: skip
            _add(b, warp, launch, values)


def new_pair(b: Builder, launch: Record, kind: Value, site: Value, other: Value) -> Value:
    """Counts a finding of a kind between two sites; an i1, true for the first one."""
    pairs = launch.shadow.pairs
    long = [b.resize(v, "i64") for v in (kind, site & SITES, other & SITES)]
    key = (long[0] << 56) | ((long[1] << 28) | long[2])
    return b.call("i1", "gs_pair_count", pairs, key)


def _lane(b: Builder, record: Value) -> Value:
    return b.resize(record, "i32") & (LANES - 1)


def _add(b: Builder, warp: Record, launch: Record, values: dict[str, Value]) -> None:
    counter = launch.field("finding_count")
    index = b.define("i32", f"atomicrmw add ptr {counter.name}, i32 1 seq_cst")
    with b.if_(index < MAX_FINDINGS):
        offset = b.resize(index, "i64") * FINDING.size
        record = b.record(b.offset(launch.findings, offset), FINDING)
        for name, value in values.items():
            b.put(record, FINDING, name, value)
        for axis in range(3):
            record.ctaid[axis] = warp.ctaid[axis]


def _count(m: IrModule) -> None:
    """Counts a pair; true for a pair's first one. A pair that finds no place in the table is not told."""
    with m.function("i1", "gs_pair_count", "pair* pairs", "i64 key", cold=True) as (b, (pairs, key)):
        # Fibonacci hashing (Knuth, TAOCP 6.4): the upper bits of a product with 2^64 over the golden ratio.
        hash_ = (key * 0x9E3779B97F4A7C15) >> (64 - (PAIRS.bit_length() - 1))
        for step in range(_TRIES):
            index = (hash_ + step) & (PAIRS - 1)
            pair = pairs[index]
            result = b.define("{ i64, i1 }", f"cmpxchg ptr {pair.name}, i64 0, {key!r} seq_cst seq_cst")
            previous = b.define("i64", f"extractvalue {result!r}, 0")
            new = b.define("i1", f"extractvalue {result!r}, 1")
            with b.if_(new | (previous == key)):
                counter = pair.field("count")
                b.define("i64", f"atomicrmw add ptr {counter.name}, i64 1 monotonic")
                b.ret(new)
        b.ret(constant("i1", False))
