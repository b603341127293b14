"""Vector clocks of the blocks of a cluster, for the observed build: what a block knows of the others.

A row per block; its own entry counts what it has given away. Fences and atomics share one clock, the cluster's barrier
has one for each turn; what mbarriers order is in cluster_orders.py.
"""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import MOST_BLOCKS_IN_CLUSTER as MOST
from gridstride.virtual.abi.race_shadows import CLUSTER_OBJECTS, CLUSTER_RACE
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.schedule.cluster_blocks import cluster_of

RANKS = f"<{MOST} x i32>"


def emit_cluster_clocks(m: IrModule) -> None:
    """gs_team_begin, _sync, _learn, _come, _release, _take, _opened, _wait."""
    _begin(m)
    _sync(m)
    _barrier(m)


def own_row(b: Builder, race: Record, rank: Value) -> Value:
    """Where a block's vector clock is."""
    return b.offset(race.field("seen"), b.resize(rank, "i64") * (4 * MOST))


def vector(b: Builder, pointer: Value) -> Value:
    """The vector clock at a place."""
    return b.load(RANKS, pointer, align=4)


def _field(b: Builder, race: Record, name: str) -> Value:
    return race.field(name)


def tick(b: Builder, race: Record, rank: Value, clocks: Value) -> None:
    """What the block does from now on is later than what it has given away."""
    next_own = b.extract(clocks, rank) + 1
    latest = b.intrinsic("umax", race.clock, next_own)
    race.clock = latest
    b.store(b.insert(clocks, next_own, rank), own_row(b, race, rank), align=4)


def team_of(b: Builder, warp: Record) -> tuple[Record, Value]:
    """The cluster's shadow (maybe null) and the block's rank."""
    return cluster_of(b, warp).race, warp.block.rank


def _begin(m: IrModule) -> None:
    with m.function("void", "gs_team_begin", "cluster_race* race") as (b, (race,)):
        # Every clock starts past all that this memory has seen, so the planes need no clearing.
        clock = race.clock + 1
        own = clock + 2  # clock + 1 says that the block has begun, and nothing of what it did
        race.clock = own
        for name, value in (("waiting", i32(0)), ("reported", i32(0)), ("start", clock)):
            b.put(race, CLUSTER_RACE, name, value)
        objects = race.field("objects")
        b.emit(f"call void @llvm.memset.p0.i64(ptr {objects.name}, i8 0, i64 {8 * CLUSTER_OBJECTS}, i1 false)")
        start = b.splat(clock, MOST)
        for name in ("released", "arriving", "opened"):
            b.store(start, _field(b, race, name), align=4)
        for number in range(MOST):
            b.store(b.insert(start, own, number), own_row(b, race, i32(number)), align=4)
            pointer = race.field("touched", MOST * number)
            b.store(constant(RANKS, 0), pointer, align=4)


def _sync(m: IrModule) -> None:
    """Release to, and acquire from, one clock for the whole cluster; gs_team_learn only acquires."""
    for name, releases in (("gs_team_sync", True), ("gs_team_learn", False)):
        with m.function("void", name, "warp* warp") as (b, (warp,)):
            with b.if_(~(cluster_of(b, warp) != NULL)):
                b.ret()
            if releases:  # another block of the cluster may be the one that tells of it
                b.call("void", "gs_race_tell", warp, i32(-1))
            race, rank = team_of(b, warp)
            with b.if_(race != NULL):
                row = own_row(b, race, rank)
                merged = b.intrinsic("umax", vector(b, row), vector(b, _field(b, race, "released")))
                if releases:
                    b.store(merged, _field(b, race, "released"), align=4)
                    tick(b, race, rank, merged)
                else:
                    b.store(merged, row, align=4)


def _barrier(m: IrModule) -> None:
    """The cluster's barrier: who arrives gives, who waits takes, what was given in that turn."""
    with m.function("void", "gs_team_come", "cluster_race* race", "i32 rank", "ptr given") as (b, (race, rank, clock)):
        # An arrival that orders no memory: that the block has begun, and what fences have released before. And what its
        # threads used of other blocks' memory until now they use no more.
        begun = b.insert(vector(b, _field(b, race, "released")), race.start + 1, rank)
        begun = b.intrinsic("umax", begun, vector(b, _field(b, race, "released")))
        b.store(b.intrinsic("umax", begun, vector(b, clock)), clock, align=4)
        for owner in range(MOST):
            touched = race.field("touched", MOST * owner)
            b.store(b.insert(vector(b, touched), i32(0), rank), touched, align=4)
    with m.function("void", "gs_team_release", "warp* warp", "i1 relaxed") as (b, (warp, relaxed)):
        race, rank = team_of(b, warp)
        with b.if_(race != NULL):
            with b.if_(relaxed):
                b.call("void", "gs_team_come", race, rank, _field(b, race, "arriving"))
                b.ret()
            clocks = vector(b, own_row(b, race, rank))
            clock = b.intrinsic("umax", clocks, vector(b, _field(b, race, "arriving")))
            b.store(clock, _field(b, race, "arriving"), align=4)
            tick(b, race, rank, clocks)
    with m.function("void", "gs_team_take", "cluster_race* race", "i32 rank") as (b, (race, rank)):
        clocks = b.intrinsic("umax", vector(b, own_row(b, race, rank)), vector(b, _field(b, race, "opened")))
        b.store(clocks, own_row(b, race, rank), align=4)
    with m.function("void", "gs_team_wait", "warp* warp", "i1 held") as (b, (warp, held)):
        race, rank = team_of(b, warp)
        with b.if_(race != NULL):
            with b.if_(held):
                mine = race.waiting | (1 << rank)
                race.waiting = mine
                b.ret()
            b.call("void", "gs_team_take", race, rank)
    with m.function("void", "gs_team_opened", "cluster_race* race") as (b, (race,)):
        with b.if_(~(race != NULL)):
            b.ret()
        b.store(vector(b, _field(b, race, "arriving")), _field(b, race, "opened"), align=4)
        b.store(constant(RANKS, 0), _field(b, race, "arriving"), align=4)
        with b.lanes(race.waiting) as rank:
            b.call("void", "gs_team_take", race, rank)
        race.waiting = 0
