"""The runtime's barrier.cluster: threads arrive, go on, and wait later; threads that have ended need not come."""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import CLUSTER
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import BARRIERS, LANES
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value
from gridstride.virtual.runtime.common import i32, i64, increment
from gridstride.virtual.runtime.schedule.cluster_blocks import block_at, cluster_of

ARRIVED_TWICE, NOT_ARRIVED = 1, 2
"""What is wrong with a use, as the fault's size says it to Python."""


def emit_cluster_barrier(m: IrModule) -> None:
    """gs_cluster_arrive, gs_cluster_passed, gs_cluster_token, gs_cluster_exit."""
    _complete(m)
    _arrive(m)
    _passed(m)
    _token(m)
    _exit(m)


def _phase(b: Builder, block: Record) -> Value:
    return block.field("phases", BARRIERS)


def _turn_mask(b: Builder, cluster: Record) -> Value:
    """All ones where the current turn is odd."""
    return 0 - (cluster.turn & 1)


def _misuse(b: Builder, warp: Record, site: Value, lanes: Value, what: int) -> None:
    with b.if_(lanes != 0):
        b.call("void", "gs_fault", warp, site, i32(FAULT["cluster_barrier"]), lanes, i64(0), i32(what))


def _complete(m: IrModule) -> None:
    """Opens the barrier when all threads that have not ended are there."""
    with m.function("void", "gs_cluster_complete", "cluster* cluster") as (b, (cluster,)):
        have, needed = cluster.arrived, cluster.threads
        full = (have >= needed) & (have != 0)
        with b.if_(~full):
            b.ret()
        cluster.arrived = 0
        increment(b, cluster.field("turn"))
        at = b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            rank = b.load("i32", at)
            b.break_if(rank >= cluster.size, done)
            b.store(rank + 1, at)
            block = block_at(b, cluster, rank)
            increment(b, _phase(b, block))
            increment(b, block.field("epoch"))
            race = block.race
            with b.if_(race != NULL):
                everyone = i32(-1) >> (LANES - block.warp_count)
                b.call("void", "gs_race_barrier", race, everyone)
        b.call("void", "gs_team_opened", cluster.race)


def _arrive(m: IrModule) -> None:
    """`relaxed`: what the lanes did before is not ordered before what follows the others' wait."""
    head = ("warp* warp", "i32 site", "i32 mask", "i1 relaxed")
    with m.function("void", "gs_cluster_arrive", *head) as (b, (warp, site, mask, relaxed)):
        cluster, arrived = cluster_of(b, warp), warp.cluster_arrived
        _misuse(b, warp, site, arrived & mask, ARRIVED_TWICE)
        warp.cluster_arrived = arrived | mask
        waiting = warp.cluster_turn & ~mask
        warp.cluster_turn = waiting | (mask & _turn_mask(b, cluster))
        increment(b, cluster.field("arrived"), b.call("i32", "llvm.ctpop.i32", mask))
        b.call("void", "gs_team_release", warp, relaxed)
        b.call("void", "gs_cluster_complete", cluster)


def _passed(m: IrModule) -> None:
    """Of lanes that are about to wait, those whose turn is over already: others of the warp may be a turn ahead."""
    with m.function("i32", "gs_cluster_passed", "warp* warp", "i32 mask") as (b, (warp, mask)):
        passed = warp.cluster_turn ^ _turn_mask(b, cluster_of(b, warp))
        b.ret(mask & passed)


def _token(m: IrModule) -> None:
    """What lanes wait with: a token that is open already where the turn they came for is over."""
    with m.function("i64", "gs_cluster_token", "warp* warp", "i32 site", "i32 mask") as (b, (warp, site, mask)):
        block, cluster = warp.block, cluster_of(b, warp)
        warp.site = site
        arrived = warp.cluster_arrived
        missing = ~arrived
        _misuse(b, warp, site, mask & missing, NOT_ARRIVED)
        warp.cluster_arrived = arrived & ~mask
        passed = warp.cluster_turn ^ _turn_mask(b, cluster)
        still = mask & ~passed
        phase = b.load("i32", _phase(b, block))
        before = phase - 1
        held = still != 0
        b.call("void", "gs_team_wait", warp, held)
        turn = b.select(held, phase, before)
        b.ret(i64(BARRIERS << 32) | b.resize(turn, "i64"))


def _exit(m: IrModule) -> None:
    """Lanes that are gone for good: the barrier no longer waits for them, whether or not they had arrived."""
    with m.function("void", "gs_cluster_exit", "warp* warp", "cluster* cluster", "i32 gone") as (
        b,
        (warp, cluster, gone),
    ):
        arrived = gone & warp.cluster_arrived
        passed = warp.cluster_turn ^ _turn_mask(b, cluster)
        counted = arrived & ~passed
        for name, lanes in (("threads", gone), ("arrived", counted)):
            less = b.get(cluster, CLUSTER, name) - b.call("i32", "llvm.ctpop.i32", lanes)
            b.put(cluster, CLUSTER, name, less)
        warp.cluster_arrived ^= arrived
        b.call("void", "gs_cluster_complete", cluster)
