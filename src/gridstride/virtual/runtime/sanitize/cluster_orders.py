"""What mbarriers order between the blocks of a cluster, for the observed build.

Each mbarrier keeps the vector clock of all that arrived at it: who waits for a phase knows what came until its end, and
nothing else. An
asynchronous copy gives what its block knew when it was started, however late it lands.
"""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import MOST_BLOCKS_IN_CLUSTER as MOST
from gridstride.virtual.abi.race_shadows import CLUSTER_OBJECTS
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.sanitize.cluster_clocks import RANKS, own_row, team_of, tick, vector
from gridstride.virtual.runtime.schedule.cluster_blocks import cluster_of

_CLOCKS = 2 * 4 * MOST
"""Bytes for an mbarrier: what arrivals gave, and what they had given when the last phase ended."""


def emit_cluster_orders(m: IrModule) -> None:
    """gs_race_sync, gs_race_heard, gs_team_give, gs_team_flip, gs_team_get, gs_team_started."""
    for name, how in (("gs_race_sync", "gs_race_meet"), ("gs_race_heard", "gs_race_learn")):
        with m.function("void", name, "warp* warp") as (b, (warp,)):
            b.call("void", how, warp)
            b.call("void", "gs_team_learn", warp)
    _slot(m)
    _give(m)
    _flip(m)
    _get(m)
    _started(m)


def _slot(m: IrModule) -> None:
    """The clock of an mbarrier in the cluster's table; null where there is no room for another one."""
    with m.function("ptr", "gs_team_slot", "cluster_race* race", "i64 place") as (b, (race, pointer)):
        at, tried = b.alloca("i64"), b.alloca("i32")
        b.store((pointer >> 3) & (CLUSTER_OBJECTS - 1), at)
        b.store(i32(0), tried)
        with b.loop() as full:
            number = b.load("i64", at)
            key = race.field("objects", number)
            clock = b.offset(race.field("given"), number * _CLOCKS)
            held = b.load("i64", key)
            with b.if_(held == pointer):
                b.ret(clock)
            with b.if_(held == 0):
                b.store(pointer, key)
                for half in (0, _CLOCKS // 2):
                    b.store(constant(RANKS, 0), b.offset(clock, half), align=4)
                b.ret(clock)
            b.store((number + 1) & (CLUSTER_OBJECTS - 1), at)
            b.store(b.load("i32", tried) + 1, tried)
            b.break_if(b.load("i32", tried) >= CLUSTER_OBJECTS, full)
        b.ret(NULL)


def _watched(b: Builder, warp: Record) -> tuple[Record, Value]:
    """The cluster's shadow and the block's rank; returns from the function where nothing is watched."""
    with b.if_(~(cluster_of(b, warp) != NULL)):
        b.ret()
    race, rank = team_of(b, warp)
    with b.if_(~(race != NULL)):
        b.ret()
    return race, rank


def _address(b: Builder, pointer: Value) -> Value:
    return b.define("i64", f"ptrtoint {pointer!r} to i64")


def _give(m: IrModule) -> None:
    """An arrival: of the block as it is now, or, where `known` is not null, as it was then. `relaxed`: it releases
    nothing to other blocks.
    """
    head = ("warp* warp", "ptr place", "ptr known", "i1 relaxed")
    with m.function("void", "gs_team_give", *head) as (b, (warp, pointer, given_clock, relaxed)):
        race, rank = _watched(b, warp)
        clock = b.call("ptr", "gs_team_slot", race, _address(b, pointer))
        with b.if_(~(clock != NULL)):
            b.call("void", "gs_team_sync", warp)
            b.ret()
        with b.if_(given_clock != NULL):
            b.store(b.intrinsic("umax", vector(b, clock), vector(b, given_clock)), clock, align=4)
            b.ret()
        with b.if_(relaxed):
            b.call("void", "gs_team_come", race, rank, clock)
            b.ret()
        row = vector(b, own_row(b, race, rank))
        b.store(b.intrinsic("umax", vector(b, clock), row), clock, align=4)
        tick(b, race, rank, row)


def _flip(m: IrModule) -> None:
    """The end of a phase: who waits for it learns what came until now."""
    with m.function("void", "gs_team_flip", "warp* warp", "ptr place") as (b, (warp, pointer)):
        race, _ = _watched(b, warp)
        clock = b.call("ptr", "gs_team_slot", race, _address(b, pointer))
        with b.if_(clock != NULL):
            b.store(vector(b, clock), b.offset(clock, _CLOCKS // 2), align=4)


def _get(m: IrModule) -> None:
    """A wait that has ended. `relaxed`: what was released is known behind a fence only."""
    with m.function("void", "gs_team_get", "warp* warp", "ptr place", "i1 relaxed") as (b, (warp, pointer, relaxed)):
        race, rank = _watched(b, warp)
        clock = b.call("ptr", "gs_team_slot", race, _address(b, pointer))
        with b.if_(~(clock != NULL)):
            b.call("void", "gs_team_sync", warp)
            b.ret()
        opened = vector(b, b.offset(clock, _CLOCKS // 2))
        with b.if_(relaxed):
            released = race.field("released")
            b.store(b.intrinsic("umax", vector(b, released), opened), released, align=4)
            b.ret()
        row = own_row(b, race, rank)
        b.store(b.intrinsic("umax", vector(b, row), opened), row, align=4)


def _started(m: IrModule) -> None:
    """Keeps in a copy what its block knows when it starts it."""
    with m.function("void", "gs_team_started", "warp* warp", "copy* copy") as (b, (warp, entry)):
        race, rank = _watched(b, warp)
        b.store(vector(b, own_row(b, race, rank)), entry.field("known"), align=4)
