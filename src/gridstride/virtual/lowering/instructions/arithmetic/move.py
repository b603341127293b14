"""mov: registers, constants, special registers, addresses; packing into and unpacking from a wider register."""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Builder, Value, bits, constant, wide
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Instruction, Vector
from gridstride.virtual.ptx.types import TYPES


def move(cx: Lowering, ins: Instruction) -> None:
    """mov."""
    into, source = ins.operands
    if isinstance(into, Vector):
        _unpack(cx, ins, into)
    elif isinstance(source, Vector):
        cx.set(into, _packed(cx, ins, source))
    else:
        cx.set(into, cx.value(source, ins.type))


def _part(ins: Instruction, vector: Vector) -> int:
    """Bits of one element of the vector."""
    return TYPES[ins.type].bits // len(vector.items)


def _packed(cx: Lowering, ins: Instruction, source: Vector) -> Value:
    """The elements side by side, the first lowest."""
    size = _part(ins, source)
    read = cx.scalar if all(cx.uniform(item) for item in source.items) else cx.vector
    parts = [read(item, f"b{size}") for item in source.items]
    while len(parts) > 1:
        parts = [_joined(cx.b, low, high) for low, high in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _joined(b: Builder, low: Value, high: Value) -> Value:
    """Two integers as one twice as wide; of lanes by interleaving, which needs no wider arithmetic."""
    size = bits(low.type)
    if low.wide:
        pairs = b.shuffle(low, [i + LANES * part for i in range(LANES) for part in range(2)], high)
        return b.bitcast(pairs, wide(f"i{2 * size}"))
    low, high = (b.resize(v, f"i{2 * size}") for v in (low, high))
    return b.op("or", low, b.op("shl", high, constant(high.type, size)))


def _unpack(cx: Lowering, ins: Instruction, into: Vector) -> None:
    b, size = cx.b, _part(ins, into)
    word = cx.value(ins.operands[1], f"b{TYPES[ins.type].bits}")
    for i, item in enumerate(into.items):
        shifted = b.op("lshr", word, constant(word.type, size * i)) if i else word
        cx.set(item, b.resize(shifted, f"i{size}"))
