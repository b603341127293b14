"""Races between the lanes of one warp, in the observed build.

Since Volta the lanes of a warp need not run in step: what one lane writes another may read only after a __syncwarp() or
another instruction that brings lanes together. Each warp counts those (`epoch`), and each unit of shared memory
remembers in which epoch which lane wrote it, and which read it. Volatile accesses order nothing between lanes either.
"""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant, wide
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.lowering.runtime.unset import _units
from gridstride.virtual.machine.layout import BLOCK, FAULT, LANE_SHADOW, LANES, RACE, WARP

_NULL = Value("null", "ptr")
SEVERAL = 0x80
"""Beside a reader's lane: others of its warp have read the unit in the same epoch."""


def emit_lanes(m: Module) -> None:
    """gs_lanes_begin, gs_lanes_sync, gs_lanes_load, gs_lanes_store."""
    vector = wide("i32")
    with m.function("void", "gs_lanes_begin", "ptr lanes") as (b, (lanes,)):
        place = b.field(lanes, LANE_SHADOW, "epoch")
        b.store(b.op("add", b.load(vector, place, align=4), constant(vector, 1)), place, align=4)
    with m.function("void", "gs_lanes_sync", "ptr warp") as (b, (warp,)):
        lanes = _shadow(b, warp)
        place = _epoch(b, lanes, warp)
        b.store(b.op("add", b.load("i32", place), i32(1)), place)
    for kind in ("load", "store"):
        _access(m, kind)


def _shadow(b: Builder, warp: Value) -> Value:
    """The block's record; the function returns where it has none."""
    lanes = b.get(b.get(warp, WARP, "block"), BLOCK, "lanes")
    with b.if_(b.compare("eq", lanes, _NULL)):
        b.ret()
    return lanes


def _epoch(b: Builder, lanes: Value, warp: Value) -> Value:
    number = b.resize(b.get(warp, WARP, "warp"), "i64")
    return b.offset(b.field(lanes, LANE_SHADOW, "epoch"), b.op("mul", number, i64(4)))


def _entry(b: Builder, lanes: Value, unit: Value, plane: int) -> Value:
    """A unit's entry: epoch, then site << 16 | warp << 8 | lane, of the last write (plane 0) or read (1)."""
    index = b.op("add", b.op("mul", unit, i64(2)), i64(plane))
    return b.offset(b.offset(lanes, LANE_SHADOW.size), b.op("mul", index, i64(8)))


def _access(m: Module, kind: str) -> None:
    head = ("ptr warp", "i32 site", "i32 mask", f"{wide('i32')} address", "i32 size")
    with m.function("void", f"gs_lanes_{kind}", *head) as (b, (warp, site, mask, address, size)):
        lanes = _shadow(b, warp)
        race = b.get(b.get(warp, WARP, "block"), BLOCK, "race")
        epoch, own = b.load("i32", _epoch(b, lanes, warp)), b.get(warp, WARP, "warp")
        # Lanes that one instruction has write to one place do not race, so all are checked before any is noted.
        with b.lanes(mask) as lane, _units(b, race, b.extract(address, lane), size) as unit:
            written = _entry(b, lanes, unit, 0)
            _against(b, warp, race, written, epoch, site, lane, unit, writes=kind == "store")
            if kind == "store":
                _against(b, warp, race, _entry(b, lanes, unit, 1), epoch, site, lane, unit, writes=False)
        me = b.op("or", b.op("shl", site, i32(16)), b.op("shl", own, i32(8)))
        with b.lanes(mask) as lane, _units(b, race, b.extract(address, lane), size) as unit:
            _note(b, _entry(b, lanes, unit, int(kind == "load")), epoch, b.op("or", me, lane), kind)


def _same_warp(b: Builder, entry: Value, epoch: Value, who: Value, number: Value) -> Value:
    """An i1: the entry is of this warp and this epoch."""
    same = b.compare("eq", b.op("and", b.op("lshr", who, i32(8)), i32(LANES - 1)), number)
    return b.op("and", b.compare("eq", b.load("i32", entry), epoch), same)


def _against(
    b: Builder, warp: Value, race: Value, entry: Value, epoch: Value, site: Value, lane: Value, unit: Value, *,
    writes: bool,
) -> None:  # fmt: skip
    who = b.load("i32", b.offset(entry, 4))
    now = _same_warp(b, entry, epoch, who, b.get(warp, WARP, "warp"))
    other = b.op("and", who, i32(LANES - 1))
    several = b.compare("ne", b.op("and", who, i32(SEVERAL)), i32(0))
    apart = b.op("or", b.compare("ne", other, lane), several)
    with b.if_(b.op("and", now, apart)):
        where = b.op("shl", unit, b.resize(b.get(race, RACE, "shift"), "i64"))
        matters = constant("i1", True)
        if writes:
            old = b.offset(b.pointer(b.get(warp, WARP, "shared")), where)
            silent = b.call("i1", "gs_race_silent", race, lane, where, old, b.get(race, RACE, "shift"))
            matters = b.op("xor", silent, matters)
        with b.if_(matters):
            # Where the lane itself was the last of several readers, another one stands for them.
            them = b.select(b.compare("eq", other, lane), b.op("xor", other, i32(1)), other)
            them = b.op("or", b.op("shl", b.get(warp, WARP, "warp"), i32(8)), them)
            there = b.op("lshr", who, i32(16))
            b.call("void", "gs_report", warp, i32(FAULT["race"]), site, lane, there, them, where)


def _note(b: Builder, entry: Value, epoch: Value, who: Value, kind: str) -> None:
    if kind == "load":
        old = b.load("i32", b.offset(entry, 4))
        number = b.op("and", b.op("lshr", who, i32(8)), i32(LANES - 1))
        now = _same_warp(b, entry, epoch, old, number)
        other = b.compare("ne", b.op("and", old, i32(LANES - 1)), b.op("and", who, i32(LANES - 1)))
        several = b.op("or", other, b.compare("ne", b.op("and", old, i32(SEVERAL)), i32(0)))
        who = b.op("or", who, b.select(b.op("and", now, several), i32(SEVERAL), i32(0)))
    b.store(epoch, entry)
    b.store(who, b.offset(entry, 4))
