"""What the parts of the runtime share: constants, switching between stacks, which warp can run."""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import DONE, WAITING
from gridstride.virtual.ir.builder import Builder, Record, Value, constant


def i32(value: int) -> Value:
    """An i32 constant."""
    return constant("i32", value)


def i64(value: int) -> Value:
    """An i64 constant."""
    return constant("i64", value)


def switch(b: Builder, save: Value, to: Value) -> None:
    """Goes on at the stack pointer `to`; what is kept in `save` comes back here."""
    b.call("void", "gs_switch", save, to)


def to_scheduler(b: Builder, warp: Record) -> None:
    """Leaves a warp for its worker's scheduler."""
    worker = warp.worker
    switch(b, warp.field("sp"), worker.scheduler)


def warp_at(b: Builder, block: Record, index: Value) -> Record:
    """The warp at a place of a block."""
    return block.warps[b.resize(index, "i64")]


def warp_numbered(b: Builder, block: Record, number: Value) -> Record:
    """The warp of a block that has a number, which is not its place where warps take turns in another order."""
    launch = block.warps.launch
    count = launch.warps_per_block
    turned = count - 1 - number
    turned = b.select(launch.warp_back != 0, turned, number)
    distance = turned + (count - launch.warp_first)
    return warp_at(b, block, (distance * launch.warp_inverse) % count)


def block_in_turn(b: Builder, launch: Record, i: Value, count: Value) -> Value:
    """The index of the i-th of `count` blocks, or clusters, to start."""
    step, first = launch.block_step, launch.block_first
    return permuted(b, i, count, step, first, b.resize(launch.block_back, "i64"))


def is_observed(b: Builder, launch: Record, index: Value) -> Value:
    """An i1: the block, or cluster, is one of those observed; none is where `sample` is 0."""
    every = b.resize(launch.sample, "i64")
    spread = index % b.intrinsic("umax", every, i64(1)) == 0
    return (every != 0) & (spread | (index - launch.near_first < launch.near))  # unsigned: those before are beyond


def permuted(b: Builder, i: Value, count: Value, step: Value, first: Value, back: Value) -> Value:
    """The i-th of a permutation (Turns in machine/schedule.py)."""
    moved = (i * step + first) % count
    return b.select(back != 0, count - 1 - moved, moved)


def increment(b: Builder, pointer: Value, by: Value | None = None) -> None:
    """Adds one, or `by`, to an i32 in memory."""
    b.store(b.load("i32", pointer) + (i32(1) if by is None else by), pointer)


def can_run(b: Builder, block: Record, warp: Record) -> Value:
    """An i1: the warp is not done, and nothing it waits for is still to come."""
    state = warp.state
    held = (state == WAITING) & (warp.epoch == block.epoch)
    return (state != DONE) & ~held
