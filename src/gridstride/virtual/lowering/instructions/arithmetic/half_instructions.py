"""Instructions on f16, f16x2, bf16 and bf16x2; the arithmetic itself is in ir/half.py."""

from __future__ import annotations

from collections.abc import Callable

from gridstride.virtual.ir.builder import Builder, Value, constant, count
from gridstride.virtual.ir.extrema import extreme
from gridstride.virtual.ir.float_common import flush_bits, saturate
from gridstride.virtual.ir.half import BF16, F16, LEAST_KEPT, OUTSIDE, SIGN, Half, compute, narrow, split, widen
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Instruction

_TYPES = {"f16": F16, "f16x2": F16, "bf16": BF16, "bf16x2": BF16}


def is_half(ins: Instruction) -> bool:
    """True where an instruction works on halves."""
    return ins.type in _TYPES


def words(cx: Lowering, ins: Instruction, number: int) -> list[Value]:
    """The sources as i16, two elements a lane for packed types, flushed where the instruction says .ftz."""
    kind = _TYPES[ins.type]
    values = [split(cx.b, v) for v in cx.sources(*[ins.type] * number)]
    return [_flush(cx.b, v, kind) for v in values] if "ftz" in ins.modifiers else values


def _set(cx: Lowering, ins: Instruction, value: Value) -> None:
    """Writes halves, packed again where the type is."""
    if "ftz" in ins.modifiers:
        value = _flush(cx.b, value, _TYPES[ins.type])
    if ins.type.endswith("x2"):
        pairs = count(value.type) // 2
        value = cx.b.bitcast(value, f"<{pairs} x i32>" if pairs > 1 else "i32")
    cx.set(ins.operands[0], value)


def _flush(b: Builder, word: Value, kind: Half) -> Value:
    return flush_bits(b, word, kind.exponent, SIGN)


def narrowed(cx: Lowering, x: Value, kind: Half) -> Value:
    """The same, in an instruction."""
    return cx.shared(f"narrow_{kind.name}", lambda b, value: narrow(b, value, kind), x)


def _without_tiny(b: Builder, x: Value) -> Value:
    """Zero where an f16 result is subnormal if rounded as though exponents had no end: see `floats.flush_tiny`."""
    tiny = b.compare("olt", b.intrinsic("fabs", x), constant(x.type, LEAST_KEPT))
    return b.select(tiny, b.intrinsic("copysign", constant(x.type, 0.0), x), x)


def arithmetic(cx: Lowering, ins: Instruction, name: str) -> None:
    """add, sub, mul, fma, with .ftz, .sat, .relu."""
    b = cx.b
    kind = _TYPES[ins.type]
    operands = words(cx, ins, 3 if name == "fma" else 2)
    args = [widen(b, w, kind) for w in operands]
    result = compute(b, name, kind, args)
    if "ftz" in ins.modifiers and name in ("fmul", "fma"):  # sums alone are exact where they are subnormal
        result = _without_tiny(b, result)
    if "sat" in ins.modifiers:
        result = saturate(b, result)
    if "relu" in ins.modifiers:
        result = b.select(b.compare("ole", result, constant(result.type, 0.0)), constant(result.type, 0.0), result)
    word = narrowed(cx, result, kind)
    _set(cx, ins, _without_outside(b, word, operands) if "oob" in ins.modifiers else word)


def _without_outside(b: Builder, word: Value, operands: list[Value]) -> Value:
    """.oob: zero where an operand is what tensor copies write outside of a tensor, 0x7ff7 of either sign (H200)."""
    for x in operands:
        size = b.op("and", x, constant(x.type, SIGN - 1))
        word = b.select(b.compare("eq", size, constant(x.type, OUTSIDE)), constant(word.type, 0), word)
    return word


def unary(cx: Lowering, ins: Instruction, function: Callable[[Builder, Value], Value]) -> None:
    """ex2, tanh: the f32 function, rounded."""
    kind = _TYPES[ins.type]
    (word,) = words(cx, ins, 1)
    _set(cx, ins, narrowed(cx, cx.shared(function.__name__, function, widen(cx.b, word, kind)), kind))


def absolute(cx: Lowering, ins: Instruction) -> None:
    """abs."""
    (word,) = words(cx, ins, 1)
    _set(cx, ins, cx.b.op("and", word, constant(word.type, SIGN - 1)))


def negate(cx: Lowering, ins: Instruction) -> None:
    """neg."""
    (word,) = words(cx, ins, 1)
    _set(cx, ins, cx.b.op("xor", word, constant(word.type, SIGN)))


def extremes(cx: Lowering, ins: Instruction, name: str) -> None:
    """min, max."""
    kind = _TYPES[ins.type]
    args = [widen(cx.b, w, kind) for w in words(cx, ins, len(ins.operands) - 1)]
    _set(cx, ins, narrowed(cx, extreme(cx.b, name, args, ins.modifiers), kind))
