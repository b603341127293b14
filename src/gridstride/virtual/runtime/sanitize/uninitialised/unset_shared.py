"""Reads of shared memory that nothing has written, by the race detector's planes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.abi.value_origins import MEANINGLESS, SHARED
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant, wide
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.sanitize.shared_races import before_block, plane_of
from gridstride.virtual.runtime.sanitize.uninitialised.unset_words import add_lane
from gridstride.virtual.runtime.schedule.cluster_blocks import block_at, cluster_of


def emit_shared(m: IrModule) -> None:
    """By the race detector's planes, which only observed blocks have: gs_unset_shared_load, _store and _again (unset
    once more), _team, and gs_unset_copied for bulk copies.
    """
    head = ("warp* warp", "i32 mask", f"{wide('i32')} address", "i32 size")
    with m.function("i32", "gs_unset_shared_load", *head, cold=True) as (b, (warp, mask, address, size)):
        race, bad = _race_of(b, warp, i32(0)), b.alloca("i32")
        race.unset = 0
        b.store(i32(0), bad)
        with b.lanes(mask) as lane:
            add_lane(b, bad, lane, b.call("i1", "gs_unset_units", race, b.extract(address, lane), size))
        b.ret(b.load("i32", bad))
    with m.function("i1", "gs_unset_units", "race* race", "i32 start", "i32 size") as (b, (race, start, size)):
        begin, words = before_block(b, race), race.words
        with units_of(b, race, start, size) as unit:
            written = b.load("i32", plane_of(b, race, "written", unit))
            with b.if_(written >= begin):
                b.ret(constant("i1", False))
        # Another block's shared memory, which lies past the end of this one's, is not looked at.
        b.ret((start >> race.shift) < words)
    with m.function("void", "gs_unset_shared_store", *head) as (b, (warp, mask, address, size)):
        race = _race_of(b, warp)
        begin = before_block(b, race)
        with b.lanes(mask) as lane, units_of(b, race, b.extract(address, lane), size) as unit:
            # Known to all warps: it sets the unit, and no access can race with it.
            written = plane_of(b, race, "written", unit)
            b.store(b.intrinsic("umax", b.load("i32", written), begin), written)
    with m.function("void", "gs_unset_shared_again", *head, cold=True) as (b, (warp, mask, address, size)):
        race = _race_of(b, warp)
        with b.lanes(mask) as lane, units_of(b, race, b.extract(address, lane), size) as unit:
            b.store(i32(MEANINGLESS), plane_of(b, race, "written", unit))
    _emit_cluster(m)
    # A bulk copy out of shared memory, of which nothing was written.
    copy_head = ("warp* warp", "i32 site", *head[1:])
    with m.function("void", "gs_unset_copied", *copy_head, cold=True) as (b, (warp, site, mask, address, size)):
        race = _race_of(b, warp)
        with b.if_(race.unset != 0):
            bad = b.call("i32", "gs_unset_shared_load", warp, mask, address, size)
            b.call("void", "gs_report_uninitialised", warp, site, bad, i32(SHARED), b.resize(address, "i64"))


def _emit_cluster(m: IrModule) -> None:
    """Units of a cluster's shared memory, as its race detector counts them, that some block has written."""
    head = ("warp* warp", "cluster_race* team", "i32 mask", f"{wide('i32')} unit")
    with m.function("void", "gs_unset_team", *head) as (b, (warp, team, mask, unit)):
        units, cluster = team.units_per_block, cluster_of(b, warp)
        with b.lanes(mask) as lane:
            index = b.extract(unit, lane)
            race = block_at(b, cluster, index // units).race
            with b.if_(race != NULL):
                written = plane_of(b, race, "written", b.resize(index % units, "i64"))
                b.store(b.intrinsic("umax", b.load("i32", written), before_block(b, race)), written)


def _race_of(b: Builder, warp: Record, default: Value | None = None) -> Record:
    """The block's shadow; where it has none the function returns `default`."""
    race = warp.block.race
    with b.if_(race == NULL):
        b.ret(default)
    return race


@contextmanager
def units_of(b: Builder, race: Record, start: Value, size: Value) -> Iterator[Value]:
    """Runs its body for each unit of shared memory that `size` bytes at `start` touch, those past the end left out."""
    shift, at = race.shift, b.alloca("i32")
    last = (start + (size - 1)) >> shift
    last = b.intrinsic("umin", last, race.words - 1)
    b.store(start >> shift, at)
    with b.loop() as done:
        unit = b.load("i32", at)
        b.break_if(unit > last, done)
        b.store(unit + 1, at)
        yield b.resize(unit, "i64")
