"""mov: registers, constants, special registers, addresses; packing into and unpacking from a wider register."""

from __future__ import annotations

from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.ir import Value, constant
from gridstride.virtual.ptx.module import Instruction, Vector
from gridstride.virtual.ptx.types import TYPES


def move(cx: Lowering, ins: Instruction) -> None:
    """mov."""
    target, source = ins.operands
    if isinstance(target, Vector):
        _unpack(cx, ins, target)
    elif isinstance(source, Vector):
        cx.set(target, _packed(cx, ins, source))
    else:
        cx.set(target, cx.value(source, ins.types[-1]))


def _part(cx: Lowering, ins: Instruction, vector: Vector) -> int:
    """Bits of one element of the vector."""
    size, rest = divmod(TYPES[ins.types[-1]].bits, len(vector.items))
    if rest or size not in (8, 16, 32, 64):
        raise cx.unsupported(f"`{ins.name}` of {len(vector.items)} parts")
    return size


def _packed(cx: Lowering, ins: Instruction, source: Vector) -> Value:
    """The elements side by side, the first lowest."""
    b, size = cx.b, _part(cx, ins, source)
    whole = f"i{TYPES[ins.types[-1]].bits}"
    read = cx.scalar if all(cx.uniform(item) for item in source.items) else cx.vector
    parts = [b.resize(read(item, f"b{size}"), whole) for item in source.items]
    result = parts[0]
    for i, part in enumerate(parts[1:], 1):
        result = b.op("or", result, b.op("shl", part, constant(part.type, size * i)))
    return result


def _unpack(cx: Lowering, ins: Instruction, target: Vector) -> None:
    b, size = cx.b, _part(cx, ins, target)
    word = cx.value(ins.operands[1], f"b{TYPES[ins.types[-1]].bits}")
    for i, item in enumerate(target.items):
        shifted = b.op("lshr", word, constant(word.type, size * i)) if i else word
        cx.set(item, b.resize(shifted, f"i{size}"))


FAMILY = {"mov": move}
