"""Integer arithmetic: add, sub, mul, mad, mul24, mad24, sad, abs, neg, min, max, dp4a, dp2a."""

from __future__ import annotations

from gridstride.virtual.ir.builder import Value, bits, constant, count
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.arithmetic import extended
from gridstride.virtual.lowering.instructions.arithmetic.bits import field
from gridstride.virtual.lowering.instructions.arithmetic.integer_operands import part_of, product
from gridstride.virtual.ptx.module import Instruction
from gridstride.virtual.ptx.types import TYPES

_PACKED = ("u16x2", "s16x2")


def _elements(cx: Lowering, value: Value, ptx_type: str) -> Value:
    """A packed value as a vector of its halves; any other as it is."""
    return cx.b.bitcast(value, f"<{2 * count(value.type)} x i16>") if ptx_type in _PACKED else value


def _as_type_of(cx: Lowering, value: Value, model: Value) -> Value:
    return cx.b.bitcast(value, model.type)


def _sum(cx: Lowering, ins: Instruction, opcode: str) -> None:
    t = ins.type
    signed = t[0] == "s"
    first, second = cx.sources(t, t)
    x, y = _elements(cx, first, t), _elements(cx, second, t)
    if "sat" in ins.modifiers:
        result = cx.b.intrinsic(f"{'s' if signed else 'u'}{opcode}.sat", x, y)
    else:
        result = cx.b.op(opcode, x, y)
    cx.set(ins.operands[0], _as_type_of(cx, result, first), signed=signed)


def add(cx: Lowering, ins: Instruction) -> None:
    """add, add.sat, add.cc, and of packed halves."""
    if "cc" in ins.modifiers:
        extended.add(cx, ins)
    else:
        _sum(cx, ins, "add")


def sub(cx: Lowering, ins: Instruction) -> None:
    """sub, sub.sat, sub.cc."""
    if "cc" in ins.modifiers:
        extended.sub(cx, ins)
    else:
        _sum(cx, ins, "sub")


def mul(cx: Lowering, ins: Instruction) -> None:
    """mul.lo, mul.hi, mul.wide."""
    t, part = ins.type, part_of(ins)
    x, y = cx.sources(t, t)
    signed = t[0] == "s"
    cx.set(ins.operands[0], product(cx, x, y, signed=signed, part=part), signed=signed)


def mad(cx: Lowering, ins: Instruction) -> None:
    """mad.lo, mad.hi, mad.wide, mad.hi.sat; mad.cc."""
    if "cc" in ins.modifiers:
        extended.mad(cx, ins)
        return
    t, part = ins.type, part_of(ins)
    x, y, z = cx.sources(t, t, addend_type(t, part))
    signed = t[0] == "s"
    full = product(cx, x, y, signed=signed, part=part)
    cx.set(ins.operands[0], _plus(cx, ins, full, z), signed=signed)


def addend_type(ptx_type: str, part: str) -> str:
    """The type of a mad's c: twice as wide for .wide."""
    return f"{ptx_type[0]}{2 * TYPES[ptx_type].bits}" if part == "wide" else ptx_type


def _plus(cx: Lowering, ins: Instruction, x: Value, y: Value) -> Value:
    return cx.b.intrinsic("sadd.sat", x, y) if "sat" in ins.modifiers else cx.b.op("add", x, y)


def _product24(cx: Lowering, ins: Instruction, x: Value, y: Value) -> Value:
    """Bits 0–31 or 16–47 of the product of the low 24 bits."""
    b, signed = cx.b, ins.types[-1][0] == "s"
    x, y = (field(b, v, 0, 24, signed=signed) for v in (x, y))
    if part_of(ins) == "lo":
        return b.op("mul", x, y)
    full = product(cx, x, y, signed=signed, part="wide")
    return b.cast("trunc", b.op("lshr", full, constant(full.type, 16)), "i32")


def mul24(cx: Lowering, ins: Instruction) -> None:
    """mul24.lo, mul24.hi."""
    t = ins.type
    x, y = cx.sources(t, t)
    cx.set(ins.operands[0], _product24(cx, ins, x, y))


def mad24(cx: Lowering, ins: Instruction) -> None:
    """mad24.lo, mad24.hi, mad24.hi.sat."""
    t = ins.type
    x, y, z = cx.sources(t, t, t)
    cx.set(ins.operands[0], _plus(cx, ins, _product24(cx, ins, x, y), z))


def distance(cx: Lowering, x: Value, y: Value, *, signed: bool) -> Value:
    """|x - y| as an unsigned number."""
    s = "s" if signed else "u"
    return cx.b.op("sub", cx.b.intrinsic(f"{s}max", x, y), cx.b.intrinsic(f"{s}min", x, y))


def sad(cx: Lowering, ins: Instruction) -> None:
    """sad: c + |a - b|."""
    t = ins.type
    x, y, z = cx.sources(t, t, t)
    signed = t[0] == "s"
    cx.set(ins.operands[0], cx.b.op("add", z, distance(cx, x, y, signed=signed)), signed=signed)


def absolute(cx: Lowering, ins: Instruction) -> None:
    """abs; the most negative number stays as it is."""
    (x,) = cx.sources(ins.type)
    cx.set(ins.operands[0], cx.b.call(x.type, _named("abs", x), x, constant("i1", False)), signed=True)


def _named(name: str, x: Value) -> str:
    lanes = f"v{count(x.type)}" if x.wide else ""
    return f"llvm.{name}.{lanes}i{bits(x.type)}"


def negate(cx: Lowering, ins: Instruction) -> None:
    """neg."""
    (x,) = cx.sources(ins.type)
    cx.set(ins.operands[0], cx.b.op("sub", constant(x.type, 0), x), signed=True)


def _extreme(cx: Lowering, ins: Instruction, name: str) -> None:
    t = ins.type
    signed = t[0] == "s"
    first, second = cx.sources(t, t)
    x, y = _elements(cx, first, t), _elements(cx, second, t)
    result = cx.b.intrinsic(f"{'s' if signed else 'u'}{name}", x, y)
    if "relu" in ins.modifiers:
        result = cx.b.intrinsic("smax", result, constant(result.type, 0))
    cx.set(ins.operands[0], _as_type_of(cx, result, first), signed=signed)


def minimum(cx: Lowering, ins: Instruction) -> None:
    """min, min.relu, and of packed halves."""
    _extreme(cx, ins, "min")


def maximum(cx: Lowering, ins: Instruction) -> None:
    """max, max.relu, and of packed halves."""
    _extreme(cx, ins, "max")


def _dot(cx: Lowering, ins: Instruction, sizes: tuple[int, int], first: int) -> None:
    """c + Σ a[i] · b[first + i] over 32-bit words of fields that are `sizes` bits wide."""
    b = cx.b
    kinds = ins.types
    x, y, total = cx.sources(kinds[0], kinds[1], "b32")
    for i in range(32 // sizes[0]):
        x_item = field(b, x, sizes[0] * i, sizes[0], signed=kinds[0] == "s32")
        y_item = field(b, y, sizes[1] * (first + i), sizes[1], signed=kinds[1] == "s32")
        total = b.op("add", total, b.op("mul", x_item, y_item))
    cx.set(ins.operands[0], total)


def dp4a(cx: Lowering, ins: Instruction) -> None:
    """dp4a: four products of bytes."""
    _dot(cx, ins, (8, 8), 0)


def dp2a(cx: Lowering, ins: Instruction) -> None:
    """dp2a: two products of halves of a with the low or high two bytes of b."""
    _dot(cx, ins, (16, 8), 2 if part_of(ins) == "hi" else 0)
