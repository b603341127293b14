"""Stores that change nothing: two warps that write the same value to one place do not race.

Compilers that give each thread a part of a tile (Triton) let threads hold the same elements where the tile has fewer
than threads, and store them together. compute-sanitizer, too, reports such hazards only when asked for (racecheck's
severity "info").
"""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import RACE
from gridstride.virtual.ir.builder import NULL, IrModule, constant
from gridstride.virtual.runtime.common import i32


def emit_silent(m: IrModule) -> None:
    """gs_race_storing and gs_race_stored around the check of a store; gs_race_silent asks about one unit of it."""
    with m.function("void", "gs_race_storing", "warp* warp", "ptr where", "ptr values", "i32 size") as (b, args):
        warp, where, values, size = args
        race = warp.block.race
        with b.if_(race != NULL):
            for name, value in (("where", where), ("values", values), ("size", size)):
                b.put(race, RACE, name, value)
    with m.function("void", "gs_race_stored", "warp* warp") as (b, (warp,)):
        race = warp.block.race
        with b.if_(race != NULL):
            race.values = NULL
    _silent(m)


def _silent(m: IrModule) -> None:
    """Whether the unit at `address`, which is at `old` in this process, holds already what a lane is about to store."""
    head = ("race* race", "i32 lane", "i64 address", "ptr old", "i32 shift")
    with m.function("i1", "gs_race_silent", *head, cold=True) as (b, (race, lane, address, old, shift)):
        values = race.values
        with b.if_(values == NULL):
            b.ret(constant("i1", False))
        lane, size = b.resize(lane, "i64"), b.resize(race.size, "i64")
        start = b.load("i64", b.offset(race.where, lane * 8))
        offset = address - start
        element, within = offset // size, offset % size
        row = element * LANES + lane
        new = b.offset(values, row * size + within)
        count = 1 << shift
        at = b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            j = b.load("i32", at)
            b.break_if(j >= count, done)
            far = b.resize(j, "i64")
            with b.if_(b.load("i8", b.offset(new, far)) != b.load("i8", b.offset(old, far))):
                b.ret(constant("i1", False))
            b.store(j + 1, at)
        b.ret(constant("i1", True))
