"""What the parts of the runtime share: constants, switching between stacks, which warp can run."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Value, constant
from gridstride.virtual.machine.layout import BLOCK, DONE, LAUNCH, WAITING, WARP, WORKER


def i32(value: int) -> Value:
    """An i32 constant."""
    return constant("i32", value)


def i64(value: int) -> Value:
    """An i64 constant."""
    return constant("i64", value)


def switch(b: Builder, save: Value, to: Value) -> None:
    """Goes on at the stack pointer `to`; what is kept in `save` comes back here."""
    b.call("void", "gs_switch", save, to)


def to_scheduler(b: Builder, warp: Value) -> None:
    """Leaves a warp for its worker's scheduler."""
    worker = b.get(warp, WARP, "worker")
    switch(b, b.field(warp, WARP, "sp"), b.get(worker, WORKER, "scheduler"))


def warp_at(b: Builder, block: Value, index: Value) -> Value:
    """The warp at a place of a block."""
    return b.offset(b.get(block, BLOCK, "warps"), b.op("mul", b.resize(index, "i64"), i64(WARP.size)))


def warp_numbered(b: Builder, block: Value, number: Value) -> Value:
    """The warp of a block that has a number, which with a seed is not its place (LAUNCH.shift and reversed)."""
    launch = b.get(b.get(block, BLOCK, "warps"), WARP, "launch")
    count = b.get(launch, LAUNCH, "warps_per_block")
    turned = b.op("sub", b.op("sub", count, i32(1)), number)
    turned = b.select(b.compare("ne", b.get(launch, LAUNCH, "reversed"), i32(0)), turned, number)
    back = b.op("sub", count, b.get(launch, LAUNCH, "shift"))
    return warp_at(b, block, b.op("urem", b.op("add", turned, back), count))


def increment(b: Builder, pointer: Value, by: Value | None = None) -> None:
    """Adds one, or `by`, to an i32 in memory."""
    b.store(b.op("add", b.load("i32", pointer), by or i32(1)), pointer)


def can_run(b: Builder, block: Value, warp: Value) -> Value:
    """An i1: the warp is not done, and nothing it waits for is still to come."""
    state = b.get(warp, WARP, "state")
    held = b.op(
        "and",
        b.compare("eq", state, i32(WAITING)),
        b.compare("eq", b.get(warp, WARP, "epoch"), b.get(block, BLOCK, "epoch")),
    )
    return b.op("and", b.compare("ne", state, i32(DONE)), b.op("xor", held, constant("i1", True)))
