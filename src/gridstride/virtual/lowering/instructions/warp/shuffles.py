"""shfl: lanes read each other's registers."""

from __future__ import annotations

from collections.abc import Callable

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, constant, vector_constant, wide
from gridstride.virtual.lowering.analysis.lane_variation import broadcast_lane
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import DestinationPair, Immediate, Instruction, Operand

ALL = (1 << LANES) - 1
LANE = tuple(range(LANES))


def set_pair(cx: Lowering, target: Operand, value: Value, predicate: Callable[[], Value]) -> None:
    """Writes `d` or `d|p`."""
    if isinstance(target, DestinationPair):
        second = predicate()
        cx.set(target.destination, value)
        cx.set(target.predicate, second)
    else:
        cx.set(target, value)


SHUFFLES = ("up", "down", "bfly", "idx")


def shuffle(cx: Lowering, ins: Instruction) -> None:
    """shfl, shfl.sync: each lane gets another lane's value, its own where that one is out of range.

    Of a lane that does not execute it an H200 gives 0, on which reductions of fewer lanes than a warp's rely: the ISA
    leaves it open.
    """
    mode = next(m for m in ins.modifiers if m in SHUFFLES)
    value = cx.vector(ins.operands[1], "b32")
    if not cx.always():
        value = cx.b.select(cx.active_bits(), value, vector_constant("i32", [0] * LANES))
    by, clamp = ins.operands[2:4]
    members = constant("i32", ALL)
    if "sync" in ins.modifiers:
        members = cx.value(ins.operands[4], "b32")
        cx.program.observer.members(cx, members)
    source_lane = broadcast_lane(ins)
    if source_lane is not None:
        cx.program.observer.shuffled(cx, vector_constant("i32", [source_lane] * LANES), members)
        set_pair(cx, ins.operands[0], cx.b.extract(value, source_lane), lambda: constant("i1", True))
    elif isinstance(by, Immediate) and isinstance(clamp, Immediate):
        _constant_shuffle(cx, ins.operands[0], mode, value, by.bits, clamp.bits, members)
    else:
        _shuffle(cx, ins.operands[0], mode, value, cx.vector(by, "b32"), cx.vector(clamp, "b32"), members)


def source_lane(mode: str, lane: int, by: int, clamp: int) -> tuple[int, bool]:
    """The lane that `lane` reads from and whether it is in range (PTX ISA, shfl.sync). `clamp` is the operand c."""
    by, end, segment = by & 31, clamp & 31, clamp >> 8 & 31
    low = lane & segment
    limit = low | (end & ~segment)
    j = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": low | (by & ~segment)}[mode]
    inside = j >= limit if mode == "up" else j <= limit
    return (j & 31 if inside else lane), inside


def _constant_shuffle(
    cx: Lowering, target: Operand, mode: str, value: Value, by: int, clamp: int, members: Value
) -> None:  # fmt: skip
    sources = [source_lane(mode, lane, by, clamp) for lane in LANE]
    cx.program.observer.shuffled(cx, vector_constant("i32", [j for j, _ in sources]), members)
    moved = cx.b.shuffle(value, [j for j, _ in sources])
    set_pair(cx, target, moved, lambda: vector_constant("i1", [inside for _, inside in sources]))


def _shuffle(
    cx: Lowering, target: Operand, mode: str, value: Value, by: Value, clamp: Value, members: Value
) -> None:  # fmt: skip
    b = cx.b

    def and_(x: Value, mask: int) -> Value:
        return b.op("and", x, constant(x.type, mask))

    lane = vector_constant("i32", LANE)
    by, end = and_(by, 31), and_(clamp, 31)
    segment = and_(b.op("lshr", clamp, constant(clamp.type, 8)), 31)
    lane_bits = b.op("xor", segment, constant(segment.type, ALL))
    low = b.op("and", lane, segment)
    limit = b.op("or", low, b.op("and", end, lane_bits))
    if mode == "idx":
        j = b.op("or", low, b.op("and", by, lane_bits))
    else:
        j = b.op({"up": "sub", "down": "add", "bfly": "xor"}[mode], lane, by)
    inside = b.compare("sge" if mode == "up" else "sle", j, limit)
    sources = and_(b.select(inside, j, lane), 31)
    cx.program.observer.shuffled(cx, sources, members)
    moved = permute(cx, value, sources)
    set_pair(cx, target, moved, lambda: inside)


def permute(cx: Lowering, value: Value, lanes: Value) -> Value:
    """Element lanes[i] of a vector of 32-bit values for each lane i; through memory, where a gather picks them."""
    b = cx.b
    slot = b.alloca(value.type, align=64)
    b.store(value, slot)
    pointers = b.define(wide("ptr"), f"getelementptr i32, ptr {slot.name}, {lanes!r}")
    name = f"llvm.masked.gather.v{LANES}i32.v{LANES}p0"
    every = constant(wide("i1"), True)
    return b.call(wide("i32"), name, pointers, constant("i32", 4), every, constant(wide("i32"), 0))
