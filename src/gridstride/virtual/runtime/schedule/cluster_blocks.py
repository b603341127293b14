"""The runtime's clusters: blocks of one cluster in consecutive slots of a worker, run in turn until all have ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.abi.execution_records import BLOCK, CLUSTER, LAUNCH, WAITING
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import block_in_turn, can_run, i32, i64, increment, is_observed, warp_at
from gridstride.virtual.runtime.schedule.block_rounds import FINISHED, SPUN


def emit_clusters(m: IrModule) -> None:
    """gs_run_clusters and what it is made of."""
    _open(m)
    _start(m)
    _runnable(m)
    _run_cluster(m)
    _deadlock(m)
    _run(m)


def cluster_of(b: Builder, warp: Record) -> Record:
    """The cluster record of a warp's block, null where blocks run on their own."""
    return warp.block.cluster


def block_at(b: Builder, cluster: Record, rank: Value) -> Record:
    """The block of a cluster with the given rank (i32)."""
    return cluster.blocks[b.resize(rank, "i64")]


@contextmanager
def team(b: Builder, block: Record) -> Iterator[Record]:
    """Runs its body for every block of a block's cluster, or for the block alone where it runs on its own."""
    first, count, at = b.alloca("ptr"), b.alloca("i64"), b.alloca("i64")
    b.store(block, first)
    b.store(i64(1), count)
    b.store(i64(0), at)
    cluster = block.cluster
    with b.if_(cluster != NULL):
        b.store(cluster.blocks, first)
        b.store(b.resize(cluster.size, "i64"), count)
    with b.loop() as done:
        number = b.load("i64", at)
        b.break_if(number >= b.load("i64", count), done)
        b.store(number + 1, at)
        yield b.record(b.load("ptr", first), BLOCK)[number]


def _number(b: Builder, slot: Value, size: Value) -> Value:
    return slot * b.resize(size, "i64")


def _cluster_at(b: Builder, worker: Record, group: Value) -> Record:
    return worker.clusters[group]


def _open(m: IrModule) -> None:
    """Opens the slots of one more cluster."""
    with m.function("void", "gs_open_cluster", "worker* worker", "i64 group") as (b, (worker, group)):
        launch, at = worker.launch, b.alloca("i64")
        size = launch.cluster_size
        first = _number(b, group, size)
        end = first + b.resize(size, "i64")
        b.store(first, at)
        with b.loop() as done:
            slot = b.load("i64", at)
            b.break_if(slot >= end, done)
            b.call("void", "gs_open_slot", worker, slot)
            b.store(slot + 1, at)
        blocks = worker.blocks[first]
        shared = first * worker.shared_stride
        cluster = _cluster_at(b, worker, group)
        cluster.blocks = blocks
        cluster.shared = worker.shared + shared
        cluster.size = size


def _start(m: IrModule) -> None:
    """Starts the blocks of the cluster with the given linear index in the slots of a group."""
    with m.function("void", "gs_start_cluster", "worker* worker", "i64 group", "i64 index") as (
        b,
        (worker, group, index),
    ):
        launch, cluster = worker.launch, _cluster_at(b, worker, group)
        size = launch.cluster_size
        grid = [launch.grid[axis] for axis in range(3)]
        shape = [launch.cluster[axis] for axis in range(3)]
        clusters = [b.resize(g // c, "i64") for g, c in zip(grid, shape, strict=True)]
        row = index // clusters[0]
        coordinates = (index % clusters[0], row % clusters[1], row // clusters[1])
        for axis in range(3):
            cluster.index[axis] = b.resize(coordinates[axis], "i32")
        threads = size * launch.threads_per_block
        for name, value in (("active", i32(1)), ("threads", threads), ("id", index), ("race", NULL)):
            b.put(cluster, CLUSTER, name, value)
        for name in ("arrived", "turn", "ended"):
            b.put(cluster, CLUSTER, name, 0)
        worker.taken = index
        _observe(b, worker, launch, cluster, group, index)
        at, first = b.alloca("i32"), _number(b, group, size)
        b.store(i32(0), at)
        with b.loop() as done:
            rank = b.load("i32", at)
            b.break_if(rank >= size, done)
            b.store(rank + 1, at)
            _start_member(b, worker, cluster, rank, first, (coordinates, shape, grid))


def _observe(b: Builder, worker: Record, launch: Record, cluster: Record, group: Value, index: Value) -> None:
    """Gives the cluster its shadow where it is one of those observed."""
    races = worker.team_race
    with b.if_(is_observed(b, launch, index) & (races != NULL)):
        race = b.offset(races, group * worker.team_race_stride)
        cluster.race = race
        b.call("void", "gs_team_begin", race)


def _start_member(
    b: Builder, worker: Record, cluster: Record, rank: Value, first: Value,
    where: tuple[tuple[Value, ...], list[Value], list[Value]],
) -> None:  # fmt: skip
    coordinates, shape, grid = where
    own = rank_position(b, rank, shape)
    x, y, z = (p * b.resize(c, "i64") + b.resize(o, "i64") for p, c, o in zip(coordinates, shape, own, strict=True))
    gx, gy = (b.resize(g, "i64") for g in grid[:2])
    index = x + gx * (y + gy * z)
    block = block_at(b, cluster, rank)
    b.call("void", "gs_start_block", worker, block, index, first + b.resize(rank, "i64"))
    block.cluster = cluster
    block.rank = rank


def rank_position(b: Builder, rank: Value, shape: list[Value]) -> tuple[Value, Value, Value]:
    """%cluster_ctaid of a rank: x varies fastest."""
    row = rank // shape[0]
    return rank % shape[0], row % shape[1], row // shape[1]


def _runnable(m: IrModule) -> None:
    """An i1: some warp of the block could go on."""
    with m.function("i1", "gs_can_go_on", "block* block") as (b, (block,)):
        at = b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            number = b.load("i32", at)
            b.break_if(number >= block.warp_count, done)
            b.store(number + 1, at)
            with b.if_(can_run(b, block, warp_at(b, block, number))):
                b.ret(constant("i1", True))
        b.ret(constant("i1", False))


def _run_cluster(m: IrModule) -> None:
    """One round over a cluster's blocks; gives the number of those that spin, and ends the launch at a deadlock."""
    with m.function("i64", "gs_run_cluster", "worker* worker", "cluster* cluster") as (b, (worker, cluster)):
        launch, size = worker.launch, cluster.size
        at, live, spun, able = (b.alloca("i32") for _ in range(4))
        for counter in (at, live, spun, able):
            b.store(i32(0), counter)
        with b.loop() as done:
            rank = b.load("i32", at)
            b.break_if(rank >= size, done)
            b.store(rank + 1, at)
            block = block_at(b, cluster, rank)
            with b.if_(block.active != 0):
                result = b.call("i32", "gs_run_block", worker, block)
                with b.if_(b.get(launch, LAUNCH, "abort", volatile=True) != 0):
                    b.ret(i64(0))
                over = result == FINISHED
                with b.if_(over):
                    block.active = 0
                    exited = cluster.ended | (1 << rank)
                    cluster.ended = exited
                    b.call("void", "gs_team_end", cluster, rank)
                increment(b, live, b.resize(~over, "i32"))
                increment(b, spun, b.resize(result == SPUN, "i32"))
        any_live = b.load("i32", live) != 0
        with b.if_(~any_live):
            cluster.active = 0
        # What one block did may let another go on: only when that is true of none are they stuck for good.
        with b.if_(any_live & (b.load("i32", spun) == 0)):
            b.store(i32(0), at)
            with b.loop() as done:
                rank = b.load("i32", at)
                b.break_if(rank >= size, done)
                b.store(rank + 1, at)
                block = block_at(b, cluster, rank)
                with b.if_(block.active != 0):
                    increment(b, able, b.resize(b.call("i1", "gs_can_go_on", block), "i32"))
            with b.if_(b.load("i32", able) == 0):
                b.call("void", "gs_cluster_deadlock", cluster)
        b.ret(b.resize(b.load("i32", spun), "i64"))


def _deadlock(m: IrModule) -> None:
    """The first warp of the cluster that waits stands for it; Python reads the others from their records."""
    with m.function("void", "gs_cluster_deadlock", "cluster* cluster", cold=True) as (b, (cluster,)):
        at, number = b.alloca("i32"), b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            rank = b.load("i32", at)
            b.break_if(rank >= cluster.size, done)
            b.store(rank + 1, at)
            block = block_at(b, cluster, rank)
            b.store(i32(0), number)
            with b.if_(block.active != 0), b.loop() as none:
                n = b.load("i32", number)
                b.break_if(n >= block.warp_count, none)
                b.store(n + 1, number)
                warp = warp_at(b, block, n)
                with b.if_(warp.state == WAITING):
                    live, site = warp.live, warp.site
                    b.call("void", "gs_record", warp, site, i32(FAULT["deadlock"]), live, i64(0), i32(0), i32(0))
                    b.ret()


def _run(m: IrModule) -> None:
    """One worker: takes clusters until none are left; opens another group of slots when those it has are spinning."""
    with m.function("void", "gs_run_clusters", "worker* worker") as (b, (worker,)):
        launch = worker.launch
        size = b.resize(launch.cluster_size, "i64")
        total = launch.blocks // size
        most = b.resize(worker.slots, "i64") // size
        opened, at, live, spun = (b.alloca("i64") for _ in range(4))
        b.store(i64(1), opened)
        b.call("void", "gs_open_cluster", worker, i64(0))
        with b.loop() as done:
            for counter in (at, live, spun):
                b.store(i64(0), counter)
            with b.loop() as round_over:
                b.break_if(b.get(launch, LAUNCH, "abort", volatile=True) != 0, done)
                group = b.load("i64", at)
                b.break_if(group >= b.load("i64", opened), round_over)
                b.store(group + 1, at)
                cluster = _cluster_at(b, worker, group)
                with b.if_(cluster.active == 0):
                    counter = launch.field("next")
                    index = b.define("i64", f"atomicrmw add ptr {counter.name}, i64 1 seq_cst")
                    with b.if_(index < total):
                        turn = block_in_turn(b, launch, index, total)
                        b.call("void", "gs_start_cluster", worker, group, turn)
                with b.if_(cluster.active != 0):
                    b.store(b.load("i64", live) + 1, live)
                    some = b.call("i64", "gs_run_cluster", worker, cluster)
                    b.store(b.load("i64", spun) + some, spun)
            b.break_if(b.load("i64", live) == 0, done)
            opened_count = b.load("i64", opened)
            more = (b.load("i64", spun) != 0) & (opened_count < most)
            with b.if_(more):
                b.call("void", "gs_open_cluster", worker, opened_count)
                b.store(opened_count + 1, opened)
