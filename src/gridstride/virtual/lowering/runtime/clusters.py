"""The runtime's clusters: blocks of one cluster in consecutive slots of a worker, run in turn until all have ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant
from gridstride.virtual.lowering.runtime.common import can_run, i32, i64, increment, warp_at
from gridstride.virtual.machine.layout import BLOCK, CLUSTER, FAULT, LAUNCH, WAITING, WARP, WORKER

NULL = Value("null", "ptr")
_FINISHED, _SPUN = 0, 1
"""What `gs_run_block` gives back (scheduler.py)."""


def emit_clusters(m: Module) -> None:
    """gs_run_clusters and what it is made of."""
    _open(m)
    _start(m)
    _runnable(m)
    _run_cluster(m)
    _deadlock(m)
    _run(m)


def present(b: Builder, pointer: Value) -> Value:
    return b.compare("ne", pointer, NULL)


def inverted(b: Builder, x: Value) -> Value:
    return b.op("xor", x, constant("i1", True))


def cluster_of(b: Builder, warp: Value) -> Value:
    """The cluster record of a warp's block, null where blocks run on their own."""
    return b.get(b.get(warp, WARP, "block"), BLOCK, "cluster")


def block_at(b: Builder, cluster: Value, rank: Value) -> Value:
    """The block of a cluster with the given rank (i32)."""
    return b.offset(b.get(cluster, CLUSTER, "blocks"), b.op("mul", b.resize(rank, "i64"), i64(BLOCK.size)))


@contextmanager
def team(b: Builder, block: Value) -> Iterator[Value]:
    """Runs its body for every block of a block's cluster, or for the block alone where it runs on its own."""
    first, count, at = b.alloca("ptr"), b.alloca("i64"), b.alloca("i64")
    b.store(block, first)
    b.store(i64(1), count)
    b.store(i64(0), at)
    cluster = b.get(block, BLOCK, "cluster")
    with b.if_(present(b, cluster)):
        b.store(b.get(cluster, CLUSTER, "blocks"), first)
        b.store(b.resize(b.get(cluster, CLUSTER, "size"), "i64"), count)
    with b.loop() as done:
        number = b.load("i64", at)
        b.break_if(b.compare("uge", number, b.load("i64", count)), done)
        b.store(b.op("add", number, i64(1)), at)
        yield b.offset(b.load("ptr", first), b.op("mul", number, i64(BLOCK.size)))


def _number(b: Builder, slot: Value, size: Value) -> Value:
    return b.op("mul", slot, b.resize(size, "i64"))


def _place(b: Builder, worker: Value, group: Value) -> Value:
    return b.offset(b.get(worker, WORKER, "clusters"), b.op("mul", group, i64(CLUSTER.size)))


def _open(m: Module) -> None:
    """Opens the slots of one more cluster."""
    with m.function("void", "gs_open_cluster", "ptr worker", "i64 group") as (b, (worker, group)):
        launch, at = b.get(worker, WORKER, "launch"), b.alloca("i64")
        size = b.get(launch, LAUNCH, "cluster_size")
        first = _number(b, group, size)
        end = b.op("add", first, b.resize(size, "i64"))
        b.store(first, at)
        with b.loop() as done:
            slot = b.load("i64", at)
            b.break_if(b.compare("uge", slot, end), done)
            b.call("void", "gs_open_slot", worker, slot)
            b.store(b.op("add", slot, i64(1)), at)
        blocks = b.offset(b.get(worker, WORKER, "blocks"), b.op("mul", first, i64(BLOCK.size)))
        shared = b.op("mul", first, b.get(worker, WORKER, "shared_stride"))
        cluster = _place(b, worker, group)
        b.put(cluster, CLUSTER, "blocks", blocks)
        b.put(cluster, CLUSTER, "shared", b.op("add", b.get(worker, WORKER, "shared"), shared))
        b.put(cluster, CLUSTER, "size", size)


def _start(m: Module) -> None:
    """Starts the blocks of the cluster with the given linear index in the slots of a group."""
    with m.function("void", "gs_start_cluster", "ptr worker", "i64 group", "i64 index") as (b, (worker, group, index)):
        launch, cluster = b.get(worker, WORKER, "launch"), _place(b, worker, group)
        size = b.get(launch, LAUNCH, "cluster_size")
        grid = [b.get(launch, LAUNCH, "grid", axis) for axis in range(3)]
        shape = [b.get(launch, LAUNCH, "cluster", axis) for axis in range(3)]
        many = [b.resize(b.op("udiv", g, c), "i64") for g, c in zip(grid, shape, strict=True)]
        row = b.op("udiv", index, many[0])
        place = (b.op("urem", index, many[0]), b.op("urem", row, many[1]), b.op("udiv", row, many[1]))
        for axis in range(3):
            b.put(cluster, CLUSTER, "index", b.resize(place[axis], "i32"), axis)
        threads = b.op("mul", size, b.get(launch, LAUNCH, "threads_per_block"))
        for name, value in (("active", i32(1)), ("threads", threads), ("id", index), ("race", NULL)):
            b.put(cluster, CLUSTER, name, value)
        for name in ("arrived", "turn", "ended"):
            b.put(cluster, CLUSTER, name, 0)
        b.put(worker, WORKER, "taken", index)
        _observe(b, worker, launch, cluster, group, index)
        at, first = b.alloca("i32"), _number(b, group, size)
        b.store(i32(0), at)
        with b.loop() as done:
            rank = b.load("i32", at)
            b.break_if(b.compare("uge", rank, size), done)
            b.store(b.op("add", rank, i32(1)), at)
            _start_member(b, worker, cluster, rank, first, (place, shape, grid))


def _observe(b: Builder, worker: Value, launch: Value, cluster: Value, group: Value, index: Value) -> None:
    """Gives the cluster its shadow where it is one of those observed."""
    every, races = b.resize(b.get(launch, LAUNCH, "sample"), "i64"), b.get(worker, WORKER, "team_race")
    chosen = b.compare("eq", b.op("urem", index, b.intrinsic("umax", every, i64(1))), i64(0))
    chosen = b.op("and", chosen, b.compare("ne", every, i64(0)))
    with b.if_(b.op("and", chosen, present(b, races))):
        race = b.offset(races, b.op("mul", group, b.get(worker, WORKER, "team_race_stride")))
        b.put(cluster, CLUSTER, "race", race)
        b.call("void", "gs_team_begin", race)


def _start_member(
    b: Builder, worker: Value, cluster: Value, rank: Value, first: Value,
    where: tuple[tuple[Value, ...], list[Value], list[Value]],
) -> None:  # fmt: skip
    place, shape, grid = where
    own = rank_place(b, rank, shape)
    x, y, z = (
        b.op("add", b.op("mul", p, b.resize(c, "i64")), b.resize(o, "i64"))
        for p, c, o in zip(place, shape, own, strict=True)
    )
    gx, gy = (b.resize(g, "i64") for g in grid[:2])
    index = b.op("add", x, b.op("mul", gx, b.op("add", y, b.op("mul", gy, z))))
    block = block_at(b, cluster, rank)
    b.call("void", "gs_start_block", worker, block, index, b.op("add", first, b.resize(rank, "i64")))
    b.put(block, BLOCK, "cluster", cluster)
    b.put(block, BLOCK, "rank", rank)


def rank_place(b: Builder, rank: Value, shape: list[Value]) -> tuple[Value, Value, Value]:
    """%cluster_ctaid of a rank: x varies fastest."""
    row = b.op("udiv", rank, shape[0])
    return b.op("urem", rank, shape[0]), b.op("urem", row, shape[1]), b.op("udiv", row, shape[1])


def _runnable(m: Module) -> None:
    """An i1: some warp of the block could go on."""
    with m.function("i1", "gs_can_go_on", "ptr block") as (b, (block,)):
        at = b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            number = b.load("i32", at)
            b.break_if(b.compare("uge", number, b.get(block, BLOCK, "warp_count")), done)
            b.store(b.op("add", number, i32(1)), at)
            with b.if_(can_run(b, block, warp_at(b, block, number))):
                b.ret(constant("i1", True))
        b.ret(constant("i1", False))


def _run_cluster(m: Module) -> None:
    """One round over a cluster's blocks; gives the number of those that spin, and ends the launch at a deadlock."""
    with m.function("i64", "gs_run_cluster", "ptr worker", "ptr cluster") as (b, (worker, cluster)):
        launch, size = b.get(worker, WORKER, "launch"), b.get(cluster, CLUSTER, "size")
        at, live, spun, able = (b.alloca("i32") for _ in range(4))
        for counter in (at, live, spun, able):
            b.store(i32(0), counter)
        with b.loop() as done:
            rank = b.load("i32", at)
            b.break_if(b.compare("uge", rank, size), done)
            b.store(b.op("add", rank, i32(1)), at)
            block = block_at(b, cluster, rank)
            with b.if_(b.compare("ne", b.get(block, BLOCK, "active"), i32(0))):
                result = b.call("i32", "gs_run_block", worker, block)
                with b.if_(b.compare("ne", b.get(launch, LAUNCH, "abort", volatile=True), i32(0))):
                    b.ret(i64(0))
                over = b.compare("eq", result, i32(_FINISHED))
                with b.if_(over):
                    b.put(block, BLOCK, "active", 0)
                    ended = b.op("or", b.get(cluster, CLUSTER, "ended"), b.op("shl", i32(1), rank))
                    b.put(cluster, CLUSTER, "ended", ended)
                    b.call("void", "gs_team_end", cluster, rank)
                increment(b, live, b.resize(inverted(b, over), "i32"))
                increment(b, spun, b.resize(b.compare("eq", result, i32(_SPUN)), "i32"))
        left = b.compare("ne", b.load("i32", live), i32(0))
        with b.if_(inverted(b, left)):
            b.put(cluster, CLUSTER, "active", 0)
        # What one block did may let another go on: only when that is true of none are they stuck for good.
        with b.if_(b.op("and", left, b.compare("eq", b.load("i32", spun), i32(0)))):
            b.store(i32(0), at)
            with b.loop() as done:
                rank = b.load("i32", at)
                b.break_if(b.compare("uge", rank, size), done)
                b.store(b.op("add", rank, i32(1)), at)
                block = block_at(b, cluster, rank)
                with b.if_(b.compare("ne", b.get(block, BLOCK, "active"), i32(0))):
                    increment(b, able, b.resize(b.call("i1", "gs_can_go_on", block), "i32"))
            with b.if_(b.compare("eq", b.load("i32", able), i32(0))):
                b.call("void", "gs_cluster_deadlock", cluster)
        b.ret(b.resize(b.load("i32", spun), "i64"))


def _deadlock(m: Module) -> None:
    """The first warp of the cluster that waits stands for it; Python reads the others from their records."""
    with m.function("void", "gs_cluster_deadlock", "ptr cluster", cold=True) as (b, (cluster,)):
        at, number = b.alloca("i32"), b.alloca("i32")
        b.store(i32(0), at)
        with b.loop() as done:
            rank = b.load("i32", at)
            b.break_if(b.compare("uge", rank, b.get(cluster, CLUSTER, "size")), done)
            b.store(b.op("add", rank, i32(1)), at)
            block = block_at(b, cluster, rank)
            b.store(i32(0), number)
            with b.if_(b.compare("ne", b.get(block, BLOCK, "active"), i32(0))), b.loop() as none:
                n = b.load("i32", number)
                b.break_if(b.compare("uge", n, b.get(block, BLOCK, "warp_count")), none)
                b.store(b.op("add", n, i32(1)), number)
                warp = warp_at(b, block, n)
                with b.if_(b.compare("eq", b.get(warp, WARP, "state"), i32(WAITING))):
                    live, site = b.get(warp, WARP, "live"), b.get(warp, WARP, "site")
                    b.call("void", "gs_record", warp, site, i32(FAULT["deadlock"]), live, i64(0), i32(0), i32(0))
                    b.ret()


def _run(m: Module) -> None:
    """One worker: takes clusters until none are left; opens another group of slots when those it has are spinning."""
    with m.function("void", "gs_run_clusters", "ptr worker") as (b, (worker,)):
        launch = b.get(worker, WORKER, "launch")
        size = b.resize(b.get(launch, LAUNCH, "cluster_size"), "i64")
        total = b.op("udiv", b.get(launch, LAUNCH, "blocks"), size)
        most = b.op("udiv", b.resize(b.get(worker, WORKER, "slots"), "i64"), size)
        opened, at, live, spun = (b.alloca("i64") for _ in range(4))
        b.store(i64(1), opened)
        b.call("void", "gs_open_cluster", worker, i64(0))
        with b.loop() as done:
            for counter in (at, live, spun):
                b.store(i64(0), counter)
            with b.loop() as round_over:
                b.break_if(b.compare("ne", b.get(launch, LAUNCH, "abort", volatile=True), i32(0)), done)
                group = b.load("i64", at)
                b.break_if(b.compare("uge", group, b.load("i64", opened)), round_over)
                b.store(b.op("add", group, i64(1)), at)
                cluster = _place(b, worker, group)
                with b.if_(b.compare("eq", b.get(cluster, CLUSTER, "active"), i32(0))):
                    counter = b.field(launch, LAUNCH, "next")
                    index = b.define("i64", f"atomicrmw add ptr {counter.name}, i64 1 seq_cst")
                    with b.if_(b.compare("ult", index, total)):
                        b.call("void", "gs_start_cluster", worker, group, index)
                with b.if_(b.compare("ne", b.get(cluster, CLUSTER, "active"), i32(0))):
                    b.store(b.op("add", b.load("i64", live), i64(1)), live)
                    some = b.call("i64", "gs_run_cluster", worker, cluster)
                    b.store(b.op("add", b.load("i64", spun), some), spun)
            b.break_if(b.compare("eq", b.load("i64", live), i64(0)), done)
            many = b.load("i64", opened)
            more = b.op("and", b.compare("ne", b.load("i64", spun), i64(0)), b.compare("ult", many, most))
            with b.if_(more):
                b.call("void", "gs_open_cluster", worker, many)
                b.store(b.op("add", many, i64(1)), opened)
