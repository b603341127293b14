"""Vector clocks of the blocks of a cluster, for the observed build: what a block knows of the others.

A row per block; its own entry counts what it has given away. Fences and atomics share one clock, the cluster's barrier
has one for each turn; what mbarriers order is in cluster_orders.py.
"""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant
from gridstride.virtual.lowering.runtime.clusters import cluster_of, inverted, present
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.machine.layout import BLOCK, CLUSTER, CLUSTER_OBJECTS, CLUSTER_RACE, WARP
from gridstride.virtual.machine.layout import MOST_BLOCKS_IN_CLUSTER as MOST

RANKS = f"<{MOST} x i32>"


def emit_cluster_clocks(m: Module) -> None:
    """gs_team_begin, _sync, _release, _take, _opened, _wait."""
    _begin(m)
    _sync(m)
    _barrier(m)


def own_row(b: Builder, race: Value, rank: Value) -> Value:
    """Where a block's vector clock is."""
    return b.offset(b.field(race, CLUSTER_RACE, "seen"), b.op("mul", b.resize(rank, "i64"), i64(4 * MOST)))


def vector(b: Builder, place: Value) -> Value:
    """The vector clock at a place."""
    return b.load(RANKS, place, align=4)


def _field(b: Builder, race: Value, name: str) -> Value:
    return b.field(race, CLUSTER_RACE, name)


def tick(b: Builder, race: Value, rank: Value, known: Value) -> None:
    """What the block does from now on is later than what it has given away."""
    ahead = b.op("add", b.extract(known, rank), i32(1))
    latest = b.intrinsic("umax", b.get(race, CLUSTER_RACE, "clock"), ahead)
    b.put(race, CLUSTER_RACE, "clock", latest)
    b.store(b.insert(known, ahead, rank), own_row(b, race, rank), align=4)


def team_of(b: Builder, warp: Value) -> tuple[Value, Value]:
    """The cluster's shadow (maybe null) and the block's rank."""
    return b.get(cluster_of(b, warp), CLUSTER, "race"), b.get(b.get(warp, WARP, "block"), BLOCK, "rank")


def _begin(m: Module) -> None:
    with m.function("void", "gs_team_begin", "ptr race") as (b, (race,)):
        # Every clock starts past all that this memory has seen, so the planes need no clearing.
        clock = b.op("add", b.get(race, CLUSTER_RACE, "clock"), i32(1))
        own = b.op("add", clock, i32(1))
        b.put(race, CLUSTER_RACE, "clock", own)
        for name, value in (("waiting", i32(0)), ("told", i32(0)), ("start", clock)):
            b.put(race, CLUSTER_RACE, name, value)
        objects = b.field(race, CLUSTER_RACE, "objects")
        b.emit(f"call void @llvm.memset.p0.i64(ptr {objects.name}, i8 0, i64 {8 * CLUSTER_OBJECTS}, i1 false)")
        start = b.splat(clock, MOST)
        for name in ("released", "arriving", "opened"):
            b.store(start, _field(b, race, name), align=4)
        for number in range(MOST):
            b.store(b.insert(start, own, number), own_row(b, race, i32(number)), align=4)
            place = b.field(race, CLUSTER_RACE, "touched", MOST * number)
            b.store(constant(RANKS, 0), place, align=4)


def _sync(m: Module) -> None:
    """Release to, and acquire from, one clock for the whole cluster."""
    with m.function("void", "gs_team_sync", "ptr warp") as (b, (warp,)):
        with b.if_(inverted(b, present(b, cluster_of(b, warp)))):
            b.ret()
        race, rank = team_of(b, warp)
        with b.if_(present(b, race)):
            both = b.intrinsic("umax", vector(b, own_row(b, race, rank)), vector(b, _field(b, race, "released")))
            b.store(both, _field(b, race, "released"), align=4)
            tick(b, race, rank, both)


def _barrier(m: Module) -> None:
    """The cluster's barrier: who arrives gives, who waits takes, what was given in that turn."""
    with m.function("void", "gs_team_release", "ptr warp") as (b, (warp,)):
        race, rank = team_of(b, warp)
        with b.if_(present(b, race)):
            known = vector(b, own_row(b, race, rank))
            given = b.intrinsic("umax", known, vector(b, _field(b, race, "arriving")))
            b.store(given, _field(b, race, "arriving"), align=4)
            tick(b, race, rank, known)
    with m.function("void", "gs_team_take", "ptr race", "i32 rank") as (b, (race, rank)):
        known = b.intrinsic("umax", vector(b, own_row(b, race, rank)), vector(b, _field(b, race, "opened")))
        b.store(known, own_row(b, race, rank), align=4)
    with m.function("void", "gs_team_wait", "ptr warp", "i1 held") as (b, (warp, held)):
        race, rank = team_of(b, warp)
        with b.if_(present(b, race)):
            with b.if_(held):
                mine = b.op("or", b.get(race, CLUSTER_RACE, "waiting"), b.op("shl", i32(1), rank))
                b.put(race, CLUSTER_RACE, "waiting", mine)
                b.ret()
            b.call("void", "gs_team_take", race, rank)
    with m.function("void", "gs_team_opened", "ptr race") as (b, (race,)):
        with b.if_(inverted(b, present(b, race))):
            b.ret()
        b.store(vector(b, _field(b, race, "arriving")), _field(b, race, "opened"), align=4)
        b.store(constant(RANKS, 0), _field(b, race, "arriving"), align=4)
        with b.lanes(b.get(race, CLUSTER_RACE, "waiting")) as rank:
            b.call("void", "gs_team_take", race, rank)
        b.put(race, CLUSTER_RACE, "waiting", 0)
