"""Stores that change nothing: two warps that write the same value to one place do not race.

Compilers that give each thread a part of a tile (Triton) let threads hold the same elements where the tile has fewer
than threads, and store them together. compute-sanitizer, too, reports such hazards only when asked for (racecheck's
severity "info").
"""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Module, Value, constant
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.machine.layout import BLOCK, LANES, RACE, WARP

_NULL = Value("null", "ptr")


def emit_silent(m: Module) -> None:
    """gs_race_storing and gs_race_stored around the check of a store; gs_race_silent asks about one unit of it."""
    with m.function("void", "gs_race_storing", "ptr warp", "ptr where", "ptr values", "i32 size") as (b, args):
        warp, where, values, size = args
        race = b.get(b.get(warp, WARP, "block"), BLOCK, "race")
        with b.if_(b.compare("ne", race, _NULL)):
            for name, value in (("where", where), ("values", values), ("size", size)):
                b.put(race, RACE, name, value)
    with m.function("void", "gs_race_stored", "ptr warp") as (b, (warp,)):
        race = b.get(b.get(warp, WARP, "block"), BLOCK, "race")
        with b.if_(b.compare("ne", race, _NULL)):
            b.put(race, RACE, "values", _NULL)
    _silent(m)


def _silent(m: Module) -> None:
    """Whether the unit at `address`, which is at `old` in this process, holds already what a lane is about to store."""
    head = ("ptr race", "i32 lane", "i64 address", "ptr old", "i32 shift")
    with m.function("i1", "gs_race_silent", *head, cold=True) as (b, (race, lane, address, old, shift)):
        values = b.get(race, RACE, "values")
        with b.if_(b.compare("eq", values, _NULL)):
            b.ret(constant("i1", False))
        lane, size = b.resize(lane, "i64"), b.resize(b.get(race, RACE, "size"), "i64")
        start = b.load("i64", b.offset(b.get(race, RACE, "where"), b.op("mul", lane, i64(8))))
        ahead = b.op("sub", address, start)
        element, within = b.op("udiv", ahead, size), b.op("urem", ahead, size)
        row = b.op("add", b.op("mul", element, i64(LANES)), lane)
        new = b.offset(values, b.op("add", b.op("mul", row, size), within))
        count = b.op("shl", i32(1), shift)
        at = b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            j = b.load("i32", at)
            b.break_if(b.compare("uge", j, count), done)
            far = b.resize(j, "i64")
            with b.if_(b.compare("ne", b.load("i8", b.offset(new, far)), b.load("i8", b.offset(old, far)))):
                b.ret(constant("i1", False))
            b.store(b.op("add", j, i32(1)), at)
        b.ret(constant("i1", True))
