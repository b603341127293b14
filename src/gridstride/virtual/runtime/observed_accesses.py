"""The observed build's runtime: what an access does to the counters and the race detector, and what it reports."""

from __future__ import annotations

from gridstride.virtual.abi.access_counters import KINDS
from gridstride.virtual.abi.address_spaces import RANK_SHIFT
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.finding_records import FINDING, MAX_FINDINGS, RACE_OF_BLOCKS, RACE_OF_LANES
from gridstride.virtual.abi.race_shadows import UNWATCHED
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Value, constant, wide
from gridstride.virtual.runtime.common import i32, warp_numbered
from gridstride.virtual.runtime.count.banks import emit_banks
from gridstride.virtual.runtime.count.bulk_counts import emit_bulk_counts
from gridstride.virtual.runtime.count.global_counters import emit_lines
from gridstride.virtual.runtime.sanitize.atomic_races import emit_atomic_races
from gridstride.virtual.runtime.sanitize.race_pairs import new_pair
from gridstride.virtual.runtime.sanitize.shared_races import emit_races
from gridstride.virtual.runtime.sanitize.silent_stores import emit_silent


def emit_observe(m: IrModule) -> None:
    """gs_observe_* for each kind of access, and gs_report, gs_race_barrier, gs_race_sync for the rest."""
    _passed(m)
    _report(m)
    emit_lines(m)
    emit_banks(m)
    emit_bulk_counts(m)
    emit_races(m)
    emit_atomic_races(m)
    emit_silent(m)
    _observe(m)


def _observe(m: IrModule) -> None:
    """What an observed access calls: counts it and, in shared memory, checks it for races."""
    head = ("warp* warp", "i64 at", "i32 site", "i32 mask")
    for kind in ("load", "store"):  # lanes of a generic access, which is counted by itself
        who = ("warp* warp", "i32 site", "i32 mask", f"{wide('i32')} address", "i32 size")
        with m.function("void", f"gs_shared_{kind}", *who) as (b, access):
            _check_shared(b, kind, tuple(access))
    for space in ("global", "generic"):
        for kind in KINDS:
            name, more = f"gs_observe_{space}_{kind}", (f"{wide('i64')} address", "i32 size", "i32 strength")
            with m.function("void", name, *head, *more) as (b, (warp, at, site, mask, address, size, strength)):
                b.call("void", f"gs_count_{space}_{kind}", warp, at, mask, address, size)
                with b.if_(strength != UNWATCHED, likely=True):
                    writes = "store" if kind in ("store", "atomic") else "load"
                    b.call("void", f"gs_global_{writes}", warp, site, mask, address, size, strength)
                if kind == "store":
                    b.call("void", "gs_race_stored", warp)
    for space in ("const", "local"):
        type_ = wide("i32" if space == "local" else "i64")
        with m.function("void", f"gs_observe_{space}", *head, f"{type_} address", "i32 size") as (b, args):
            warp, at, _, mask, address, size = args
            b.call("void", f"gs_count_{space}", warp, at, mask, address, size)
    with m.function("void", "gs_observe_shared_atomic", *head, f"{wide('i32')} address", "i32 size") as (b, args):
        warp, at, _, mask, address, size = args
        b.call("void", "gs_count_shared_atomic", warp, at, mask, address, size)
        b.call("void", "gs_race_sync", warp)
    for kind in ("load", "store", "heard", "told", "sync", "async"):
        result = "i32" if kind == "load" else "void"
        with m.function(result, f"gs_observe_shared_{kind}", *head, f"{wide('i32')} address", "i32 size") as (b, args):
            warp, at, site, mask, address, size = args
            b.call("void", "gs_count_shared", warp, at, mask, address, size, constant("i1", kind == "load"))
            if kind in ("sync", "heard"):
                b.call("void", f"gs_race_{kind}", warp)
            if kind == "async":  # it is checked when it lands
                b.call("void", "gs_wgmma_written", warp, site, mask, address, size)
            if kind in ("load", "store"):
                _check_shared(b, kind, (warp, site, mask, address, size))
            if kind == "store":
                b.call("void", "gs_race_stored", warp)
            if kind == "load":  # gives whether to ask if something was never written
                race = warp.block.race
                with b.if_(race != NULL):
                    b.ret(race.unset)
                b.ret(i32(0))


def _check_shared(b: Builder, kind: str, access: tuple[Value, ...]) -> None:
    """A plain load or store of shared memory against matrix instructions, copies and other warps."""
    if kind == "store":
        b.call("void", "gs_wgmma_written", *access)
    b.call("void", "gs_copies_check", *access, i32(int(kind == "store")))
    b.call("void", f"gs_race_{kind}", *access)


def _passed(m: IrModule) -> None:
    """Of a race of two warps in the block's shared memory: the site, plus 1, of the barrier that this warp has come to
    since the other one ended; 0 where there is none.
    """
    head = ("warp* warp", "i32 kind", "i32 who", "i64 address")
    with m.function("i32", "gs_passed_without", *head, cold=True) as (b, (warp, kind, who, address)):
        block = warp.block
        own_memory = (address >> RANK_SHIFT) == 0
        with b.if_((kind == FAULT["race"]) & own_memory & ((who >> 8) < block.warp_count)):
            other = warp_numbered(b, block, who >> 8)
            with b.if_((other.live == 0) & (other.epoch != block.epoch)):
                b.ret(warp.site + 1)
        b.ret(i32(0))


def _report(m: IrModule) -> None:
    """Adds a finding that does not stop the launch, the first of its kind between two sites. `who` is warp << 8 | lane
    of the other side. Races between lanes of a warp are of another kind than those between warps, and those between
    blocks of a cluster of a third: one must not hide another.
    """
    head = ("warp* warp", "i32 kind", "i32 site", "i32 lane", "i32 other", "i32 who", "i64 address")
    with m.function("void", "gs_report", *head, cold=True) as (b, (warp, kind, site, lane, other, who, address)):
        launch = warp.launch
        alone = (who >> 8) == warp.warp
        race, among_blocks = kind == FAULT["race"], (address >> RANK_SHIFT) != 0
        told_as = b.select(race & among_blocks, i32(RACE_OF_BLOCKS), b.select(race & alone, i32(RACE_OF_LANES), kind))
        with b.if_(~new_pair(b, launch, told_as, site, other)):
            b.ret()
        counter = launch.field("finding_count")
        index = b.define("i32", f"atomicrmw add ptr {counter.name}, i32 1 seq_cst")
        with b.if_(index < MAX_FINDINGS):
            record = launch.findings[b.resize(index, "i64")]
            fields = {"kind": kind, "site": site, "lane": lane, "other_site": other, "address": address,
                      "warp": warp.warp, "other_warp": who >> 8,
                      "other_lane": who & 255,
                      "passed": b.call("i32", "gs_passed_without", warp, kind, who, address)}  # fmt: skip
            for name, value in fields.items():
                b.put(record, FINDING, name, value)
            for axis in range(3):
                record.ctaid[axis] = warp.ctaid[axis]
