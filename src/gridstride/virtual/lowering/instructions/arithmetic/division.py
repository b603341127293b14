"""Integer division: div, rem. No lane may fault, whatever it holds: those that are off hold anything.

x86 and LLVM have no vector division, so 32 lanes would be 32 divisions. Quotients of numbers below 2⁵⁰ are exact in
double precision: a quotient that is no integer n lies at least 1/divisor below it, far more than half a unit in the
last place. The ISA leaves division by zero open; here, as on NVIDIA's GPUs, it gives all ones, and the remainder is the
dividend.
"""

from __future__ import annotations

from gridstride.virtual.ir.builder import Value, bits, constant
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Immediate, Instruction
from gridstride.virtual.ptx.types import TYPES

EXACT = 50
"""Bits of numbers whose quotients doubles get right."""


def _quotient(cx: Lowering, x: Value, y: Value, divisor: int | None, *, signed: bool) -> Value:
    """x / y rounded towards zero; all ones for y = 0; the most negative number by -1 is itself."""
    if bits(x.type) < 32:
        long, narrow_divisor = (cx.b.resize(v, "i32", signed=signed) for v in (x, y))
        return cx.b.resize(_quotient(cx, long, narrow_divisor, divisor, signed=signed), f"i{bits(x.type)}")
    if divisor:
        return _by_constant(cx, x, y, divisor, signed=signed)
    if not x.wide:
        return _scalar(cx, x, y, signed=signed)
    if bits(x.type) == 32:
        return _in_doubles(cx, x, y, signed=signed)
    return _long_signed(cx, x, y) if signed else _long(cx, x, y)


def _by_constant(cx: Lowering, x: Value, y: Value, divisor: int, *, signed: bool) -> Value:
    """LLVM makes a multiplication of it."""
    if signed and divisor == -1:
        return cx.b.op("sub", constant(x.type, 0), x)
    return cx.b.op("sdiv" if signed else "udiv", x, y)


def _freeze(cx: Lowering, value: Value) -> Value:
    """Lanes that were never written must not make the division undefined."""
    return cx.b.define(value.type, f"freeze {value!r}")


def _zero_to_ones(cx: Lowering, quotient: Value, y: Value) -> Value:
    zero = cx.b.compare("eq", y, constant(y.type, 0))
    return cx.b.select(zero, constant(quotient.type, -1), quotient)


def _scalar(cx: Lowering, x: Value, y: Value, *, signed: bool) -> Value:
    b = cx.b
    x, y = _freeze(cx, x), _freeze(cx, y)
    one = constant(y.type, 1)
    if not signed:
        safe = b.intrinsic("umax", y, one)
        return _zero_to_ones(cx, b.op("udiv", x, safe), y)
    minus = b.compare("eq", y, constant(y.type, -1))
    bad = b.op("or", minus, b.compare("eq", y, constant(y.type, 0)))
    quotient = b.op("sdiv", x, b.select(bad, one, y))
    quotient = b.select(minus, b.op("sub", constant(x.type, 0), x), quotient)
    return _zero_to_ones(cx, quotient, y)


def _divide(cx: Lowering, x: Value, y: Value, *, signed: bool) -> Value:
    """By double precision; poison where the quotient is not representable."""
    b = cx.b
    s = "s" if signed else "u"
    ratio = b.op("fdiv", b.cast(f"{s}itofp", x, "double"), b.cast(f"{s}itofp", y, "double"))
    return b.cast(f"fpto{s}i", ratio, f"i{bits(x.type)}")


def _in_doubles(cx: Lowering, x: Value, y: Value, *, signed: bool) -> Value:
    b = cx.b
    quotient = _divide(cx, x, y, signed=signed)
    if signed:
        minus = b.compare("eq", y, constant(y.type, -1))
        quotient = b.select(minus, b.op("sub", constant(x.type, 0), x), quotient)
    return _zero_to_ones(cx, quotient, y)


def _long(cx: Lowering, x: Value, y: Value) -> Value:
    """64 bits unsigned: in doubles where all lanes hold small numbers, as indices mostly are, else lane by lane."""
    b = cx.b
    x, y = _freeze(cx, x), _freeze(cx, y)
    every = b.intrinsic("vector.reduce.or", b.op("or", x, y), result="i64")
    small = b.compare("ult", every, constant("i64", 1 << EXACT))
    quick_at, slow_at, done = b.new_label("quick"), b.new_label("slow"), b.new_label("divided")
    b.branch(small, quick_at, slow_at, likely=True)
    b.start(quick_at)
    quick = _small(cx, x, y)
    b.jump(done)
    b.start(slow_at)
    slow = b.op("udiv", x, b.intrinsic("umax", y, constant(y.type, 1)))
    b.jump(done)
    b.start(done)
    merged = b.define(x.type, f"phi {x.type} [ {quick.name}, %{quick_at} ], [ {slow.name}, %{slow_at} ]")
    return _zero_to_ones(cx, merged, y)


def _small(cx: Lowering, x: Value, y: Value) -> Value:
    """x / y below 2⁵⁰. As the low bits of 2⁵² such numbers are doubles at once: AVX2 cannot convert 64 bits at all."""
    b = cx.b
    anchor = constant(x.type, 0x433 << 52)
    offset = constant(b.cast("bitcast", anchor, "double").type, 2.0**52)
    dividend, divisor = (b.op("fsub", b.cast("bitcast", b.op("or", v, anchor), "double"), offset) for v in (x, y))
    ratio = b.intrinsic("trunc", b.op("fdiv", dividend, divisor))
    return b.op("xor", b.cast("bitcast", b.op("fadd", ratio, offset), "i64"), anchor)


def _long_signed(cx: Lowering, x: Value, y: Value) -> Value:
    """By magnitudes, so that the most negative number by -1 is no special case."""
    b = cx.b
    zero = constant(x.type, 0)
    x, y = _freeze(cx, x), _freeze(cx, y)
    magnitudes = [b.call(v.type, "llvm.abs.v32i64", v, constant("i1", False)) for v in (x, y)]
    quotient = _long(cx, *magnitudes)
    differ = b.compare("slt", b.op("xor", x, y), zero)
    return _zero_to_ones(cx, b.select(differ, b.op("sub", zero, quotient), quotient), y)


def _constant_divisor(ins: Instruction, ptx_type: str) -> int | None:
    """The divisor where it is a constant, as a number of the type."""
    operand = ins.operands[2]
    if not isinstance(operand, Immediate) or operand.kind != "int":
        return None
    width = TYPES[ptx_type].bits
    value = operand.bits & ((1 << width) - 1)
    return value - (1 << width) if ptx_type[0] == "s" and value >> (width - 1) else value


def _parts(cx: Lowering, ins: Instruction) -> tuple[Value, Value, Value, bool]:
    t = ins.type
    x, y = cx.sources(t, t)
    return x, y, _quotient(cx, x, y, _constant_divisor(ins, t), signed=t[0] == "s"), t[0] == "s"


def div(cx: Lowering, ins: Instruction) -> None:
    """div of integers."""
    *_, quotient, signed = _parts(cx, ins)
    cx.set(ins.operands[0], quotient, signed=signed)


def rem(cx: Lowering, ins: Instruction) -> None:
    """rem: has the sign of the dividend."""
    x, y, quotient, signed = _parts(cx, ins)
    cx.set(ins.operands[0], cx.b.op("sub", x, cx.b.op("mul", quotient, y)), signed=signed)
