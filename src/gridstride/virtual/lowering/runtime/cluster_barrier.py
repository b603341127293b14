"""The runtime's barrier.cluster: threads arrive, go on, and wait later; threads that have ended need not come."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value
from gridstride.virtual.lowering.runtime.clusters import block_at, cluster_of, inverted, present
from gridstride.virtual.lowering.runtime.common import i32, i64, increment
from gridstride.virtual.machine.layout import BARRIERS, BLOCK, CLUSTER, FAULT, LANES, WARP

ARRIVED_TWICE, NOT_ARRIVED = 1, 2
"""What is wrong with a use, as the fault's size says it to Python."""


def emit_cluster_barrier(m: Module) -> None:
    """gs_cluster_arrive, gs_cluster_passed, gs_cluster_token, gs_cluster_exit."""
    _complete(m)
    _arrive(m)
    _passed(m)
    _token(m)
    _exit(m)


def _phase(b: Builder, block: Value) -> Value:
    return b.field(block, BLOCK, "phases", BARRIERS)


def _turn_mask(b: Builder, cluster: Value) -> Value:
    """All ones where the current turn is odd."""
    return b.op("sub", i32(0), b.op("and", b.get(cluster, CLUSTER, "turn"), i32(1)))


def _misuse(b: Builder, warp: Value, site: Value, lanes: Value, what: int) -> None:
    with b.if_(b.compare("ne", lanes, i32(0))):
        b.call("void", "gs_fault", warp, site, i32(FAULT["cluster_barrier"]), lanes, i64(0), i32(what))


def _complete(m: Module) -> None:
    """Opens the barrier when all threads that have not ended are there."""
    with m.function("void", "gs_cluster_complete", "ptr cluster") as (b, (cluster,)):
        have, needed = b.get(cluster, CLUSTER, "arrived"), b.get(cluster, CLUSTER, "threads")
        full = b.op("and", b.compare("uge", have, needed), b.compare("ne", have, i32(0)))
        with b.if_(inverted(b, full)):
            b.ret()
        b.put(cluster, CLUSTER, "arrived", 0)
        increment(b, b.field(cluster, CLUSTER, "turn"))
        at = b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            rank = b.load("i32", at)
            b.break_if(b.compare("uge", rank, b.get(cluster, CLUSTER, "size")), done)
            b.store(b.op("add", rank, i32(1)), at)
            block = block_at(b, cluster, rank)
            increment(b, _phase(b, block))
            increment(b, b.field(block, BLOCK, "epoch"))
            race = b.get(block, BLOCK, "race")
            with b.if_(present(b, race)):
                everyone = b.op("lshr", i32(-1), b.op("sub", i32(LANES), b.get(block, BLOCK, "warp_count")))
                b.call("void", "gs_race_barrier", race, everyone)
        b.call("void", "gs_team_opened", b.get(cluster, CLUSTER, "race"))


def _arrive(m: Module) -> None:
    with m.function("void", "gs_cluster_arrive", "ptr warp", "i32 site", "i32 mask") as (b, (warp, site, mask)):
        cluster, there = cluster_of(b, warp), b.get(warp, WARP, "cluster_arrived")
        _misuse(b, warp, site, b.op("and", there, mask), ARRIVED_TWICE)
        b.put(warp, WARP, "cluster_arrived", b.op("or", there, mask))
        others = b.op("and", b.get(warp, WARP, "cluster_turn"), b.op("xor", mask, i32(-1)))
        b.put(warp, WARP, "cluster_turn", b.op("or", others, b.op("and", mask, _turn_mask(b, cluster))))
        increment(b, b.field(cluster, CLUSTER, "arrived"), b.call("i32", "llvm.ctpop.i32", mask))
        b.call("void", "gs_team_release", warp)
        b.call("void", "gs_cluster_complete", cluster)


def _passed(m: Module) -> None:
    """Of lanes that are about to wait, those whose turn is over already: others of the warp may be a turn ahead."""
    with m.function("i32", "gs_cluster_passed", "ptr warp", "i32 mask") as (b, (warp, mask)):
        passed = b.op("xor", b.get(warp, WARP, "cluster_turn"), _turn_mask(b, cluster_of(b, warp)))
        b.ret(b.op("and", mask, passed))


def _token(m: Module) -> None:
    """What lanes wait with: a token that is open already where the turn they came for is over."""
    with m.function("i64", "gs_cluster_token", "ptr warp", "i32 site", "i32 mask") as (b, (warp, site, mask)):
        block, cluster = b.get(warp, WARP, "block"), cluster_of(b, warp)
        b.put(warp, WARP, "site", site)
        there = b.get(warp, WARP, "cluster_arrived")
        away = b.op("xor", there, i32(-1))
        _misuse(b, warp, site, b.op("and", mask, away), NOT_ARRIVED)
        b.put(warp, WARP, "cluster_arrived", b.op("and", there, b.op("xor", mask, i32(-1))))
        passed = b.op("xor", b.get(warp, WARP, "cluster_turn"), _turn_mask(b, cluster))
        still = b.op("and", mask, b.op("xor", passed, i32(-1)))
        phase = b.load("i32", _phase(b, block))
        before = b.op("sub", phase, i32(1))
        held = b.compare("ne", still, i32(0))
        b.call("void", "gs_team_wait", warp, held)
        turn = b.select(held, phase, before)
        b.ret(b.op("or", i64(BARRIERS << 32), b.resize(turn, "i64")))


def _exit(m: Module) -> None:
    """Lanes that are gone for good: the barrier no longer waits for them, whether or not they had arrived."""
    with m.function("void", "gs_cluster_exit", "ptr warp", "ptr cluster", "i32 gone") as (b, (warp, cluster, gone)):
        there = b.op("and", gone, b.get(warp, WARP, "cluster_arrived"))
        passed = b.op("xor", b.get(warp, WARP, "cluster_turn"), _turn_mask(b, cluster))
        counted = b.op("and", there, b.op("xor", passed, i32(-1)))
        for name, lanes in (("threads", gone), ("arrived", counted)):
            less = b.op("sub", b.get(cluster, CLUSTER, name), b.call("i32", "llvm.ctpop.i32", lanes))
            b.put(cluster, CLUSTER, name, less)
        b.put(warp, WARP, "cluster_arrived", b.op("xor", b.get(warp, WARP, "cluster_arrived"), there))
        b.call("void", "gs_cluster_complete", cluster)
