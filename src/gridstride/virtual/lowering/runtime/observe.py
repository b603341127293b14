"""The observed build's runtime: what an access does to the counters and the race detector, and what it reports."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Module, Value, constant, wide
from gridstride.virtual.lowering.runtime.atomic_races import emit_atomic_races
from gridstride.virtual.lowering.runtime.banks import emit_banks
from gridstride.virtual.lowering.runtime.bulk_counts import emit_bulk_counts
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.lowering.runtime.lines import KINDS, emit_lines
from gridstride.virtual.lowering.runtime.pairs import new_pair
from gridstride.virtual.lowering.runtime.races import emit_races
from gridstride.virtual.lowering.runtime.silent import emit_silent
from gridstride.virtual.machine.layout import BLOCK, FINDING, LAUNCH, MAX_FINDINGS, RACE, WARP


def emit_observe(m: Module) -> None:
    """gs_observe_* for each kind of access, and gs_report, gs_race_barrier, gs_race_sync for the rest."""
    _report(m)
    emit_lines(m)
    emit_banks(m)
    emit_bulk_counts(m)
    emit_races(m)
    emit_atomic_races(m)
    emit_silent(m)
    _observe(m)


def _observe(m: Module) -> None:
    """What an observed access calls: counts it and, in shared memory, checks it for races."""
    head = ("ptr warp", "i64 at", "i32 site", "i32 mask")
    for space in ("global", "generic"):
        for kind in KINDS:
            name = f"gs_observe_{space}_{kind}"
            with m.function("void", name, *head, f"{wide('i64')} address", "i32 size") as (b, args):
                warp, at, _, mask, address, size = args
                b.call("void", f"gs_count_{space}_{kind}", warp, at, mask, address, size)
    for space in ("const", "local"):
        type_ = wide("i32" if space == "local" else "i64")
        with m.function("void", f"gs_observe_{space}", *head, f"{type_} address", "i32 size") as (b, args):
            warp, at, _, mask, address, size = args
            b.call("void", f"gs_count_{space}", warp, at, mask, address, size)
    with m.function("void", "gs_observe_shared_atomic", *head, f"{wide('i32')} address", "i32 size") as (b, args):
        warp, at, _, mask, address, size = args
        b.call("void", "gs_count_shared_atomic", warp, at, mask, address, size)
        b.call("void", "gs_race_sync", warp)
    for kind in ("load", "store", "sync", "async"):
        result = "i32" if kind == "load" else "void"
        with m.function(result, f"gs_observe_shared_{kind}", *head, f"{wide('i32')} address", "i32 size") as (b, args):
            warp, at, site, mask, address, size = args
            b.call("void", "gs_count_shared", warp, at, mask, address, size, constant("i1", kind == "load"))
            if kind == "sync":
                b.call("void", "gs_race_sync", warp)
            if kind in ("store", "async"):
                b.call("void", "gs_wgmma_written", warp, site, mask, address, size)
            if kind in ("load", "store"):  # asynchronous ones are checked when they land
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


def _report(m: Module) -> None:
    """Adds a finding that does not stop the launch, the first of its kind between two sites. `who` is warp << 8 | lane
    of the other side.
    """
    head = ("ptr warp", "i32 kind", "i32 site", "i32 lane", "i32 other", "i32 who", "i64 address")
    with m.function("void", "gs_report", *head, cold=True) as (b, (warp, kind, site, lane, other, who, address)):
        launch = b.get(warp, WARP, "launch")
        with b.if_(b.op("xor", new_pair(b, launch, kind, site, other), constant("i1", True))):
            b.ret()
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
