"""mov: registers, constants, special registers, addresses; packing into and unpacking from a wider register."""

from __future__ import annotations

from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.form import target, types_of
from gridstride.virtual.lowering.ir import Builder, Value, bits, constant, wide
from gridstride.virtual.machine.layout import LANES
from gridstride.virtual.ptx.module import Instruction, Vector
from gridstride.virtual.ptx.types import TYPES

_TYPES = "b16 b32 b64 b128 u16 u32 u64 s16 s32 s64 f16 bf16 f16x2 bf16x2 f32 f64 pred"


def move(cx: Lowering, ins: Instruction) -> None:
    """mov."""
    (t,) = types_of(cx, ins, _TYPES, sources=1)
    into, source = ins.operands
    if isinstance(into, Vector):
        _unpack(cx, ins, into)
    elif isinstance(source, Vector):
        cx.set(target(cx, ins), _packed(cx, ins, source))
    else:
        cx.set(target(cx, ins), cx.value(source, t))


def _part(cx: Lowering, ins: Instruction, vector: Vector) -> int:
    """Bits of one element of the vector."""
    size, rest = divmod(TYPES[ins.types[-1]].bits, len(vector.items))
    if rest or len(vector.items) not in (2, 4) or size < 8 or ins.types[0][0] != "b":
        raise cx.unsupported(f"`{ins.name}` of {len(vector.items)} parts")
    return size


def _packed(cx: Lowering, ins: Instruction, source: Vector) -> Value:
    """The elements side by side, the first lowest."""
    size = _part(cx, ins, source)
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
    b, size = cx.b, _part(cx, ins, into)
    word = cx.value(ins.operands[1], f"b{TYPES[ins.types[-1]].bits}")
    for i, item in enumerate(into.items):
        shifted = b.op("lshr", word, constant(word.type, size * i)) if i else word
        cx.set(item, b.resize(shifted, f"i{size}"))


FAMILY = {"mov": move}
