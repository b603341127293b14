"""Floating-point arithmetic of f32 and f64: add sub mul fma mad div rcp sqrt rsqrt abs neg min max copysign testp.

Results are those of IEEE 754 in the rounding the instruction names. `.approx` and `.full` forms are computed exactly
where a division or a square root does it: closer than the ISA asks. `.ftz` makes zeros of subnormal inputs and results,
sign kept; a result counts as subnormal after rounding, which for mul and fma is `flush_tiny`'s.

A NaN that div, rcp, sqrt, rsqrt, min, max, a directed rounding or add, sub and mul with `.rn` give as f32 is NVIDIA's
canonical 0x7fffffff. Plain add, sub, mul and fma, which kernels spend their time in, give whatever NaN the processor
makes (0xffc00000 for an invalid operation on x86), and so do all f64 operations (there x86 and NVIDIA agree on
0xfff8000000000000).
"""

from __future__ import annotations

from dataclasses import replace

from gridstride.virtual.ir.builder import Value, constant, like
from gridstride.virtual.ir.extrema import extreme
from gridstride.virtual.ir.float_common import NAN, canonical, flush_f64, flush_tiny, is_nan, negative, raise_tiny
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.arithmetic import half_instructions
from gridstride.virtual.lowering.instructions.arithmetic.rounding import directed, mode_of
from gridstride.virtual.lowering.instructions.operand_checks import finish, operands
from gridstride.virtual.lowering.program import Emitter
from gridstride.virtual.ptx.module import Instruction


def rounded(cx: Lowering, ins: Instruction, name: str, args: list[Value]) -> Value:
    """One of fadd, fsub, fmul, fdiv, fma, sqrt in the instruction's rounding."""
    mode = mode_of(ins)
    if mode != "rn":
        return canonical(cx.b, directed(cx, name, mode, args))
    if name in ("fma", "sqrt"):
        return cx.b.intrinsic(name, *args)
    return cx.b.op(name, *args)


def arithmetic(name: str, count: int) -> Emitter:
    """add, sub, mul, fma: a plain operation with all four roundings, .ftz and .sat."""

    def lower(cx: Lowering, ins: Instruction) -> None:
        if half_instructions.is_half(ins):
            half_instructions.arithmetic(cx, ins, name)
            return
        kind = ins.type
        args = operands(cx, ins, kind, count)
        result = rounded(cx, ins, name, args)
        if "ftz" in ins.modifiers and name in ("fmul", "fma"):  # sums alone are exact where they are subnormal
            raised = [a if i == 1 else raise_tiny(cx.b, a) for i, a in enumerate(args)]
            result = flush_tiny(cx.b, result, rounded(cx, ins, name, raised))
        # LLVM takes x * 1 and x + -0 for x, which keeps a NaN's payload. Of `.rn` no compiler of CUDA makes that.
        finish(cx, ins, canonical(cx.b, result) if "rn" in ins.modifiers and name != "fma" else result)

    return lower


def divide(cx: Lowering, ins: Instruction) -> None:
    """div."""
    kind = ins.type
    x, y = operands(cx, ins, kind, 2)
    result = canonical(cx.b, rounded(cx, ins, "fdiv", [x, y]))
    if "approx" in ins.modifiers:
        result = _beyond_reciprocal(cx, x, y, result)
    finish(cx, ins, result)


def _beyond_reciprocal(cx: Lowering, x: Value, y: Value, result: Value) -> Value:
    """div.approx with 2^126 < |y| < 2^128: 1/y is flushed, so the quotient is a zero, or NaN for infinite x."""
    b = cx.b
    size = b.intrinsic("fabs", y)
    lost = b.op("and", b.compare("ogt", size, constant(y.type, 2.0**126)), _finite(cx, size))
    zero = b.intrinsic("copysign", constant(y.type, 0.0), y)
    return b.select(lost, canonical(b, b.op("fmul", x, zero)), result)


def _finite(cx: Lowering, size: Value) -> Value:
    return cx.b.compare("olt", size, constant(size.type, float("inf")))


def reciprocal(cx: Lowering, ins: Instruction) -> None:
    """rcp."""
    if ins.modifiers == ("approx", "ftz", "f64"):
        x = _upper_word(cx)
        _set_upper_word(cx, ins, cx.b.op("fdiv", constant(x.type, 1.0), x))
        return
    if ins.type == "f64":  # ptxas takes .ftz beside a rounding, and an H200 flushes nothing
        ins = replace(ins, modifiers=tuple(m for m in ins.modifiers if m != "ftz"))
    kind = ins.type
    (x,) = operands(cx, ins, kind, 1)
    finish(cx, ins, canonical(cx.b, rounded(cx, ins, "fdiv", [constant(x.type, 1.0), x])))


def square_root(cx: Lowering, ins: Instruction) -> None:
    """sqrt."""
    kind = ins.type
    finish(cx, ins, canonical(cx.b, rounded(cx, ins, "sqrt", operands(cx, ins, kind, 1))))


def reciprocal_root(cx: Lowering, ins: Instruction) -> None:
    """rsqrt: two roundings, within 2^-22.9 of the value."""
    b = cx.b
    if ins.modifiers == ("approx", "ftz", "f64"):
        x = _upper_word(cx)
        _set_upper_word(cx, ins, b.op("fdiv", constant(x.type, 1.0), b.intrinsic("sqrt", x)))
        return
    kind = ins.type
    (x,) = operands(cx, ins, kind, 1)
    finish(cx, ins, canonical(b, b.op("fdiv", constant(x.type, 1.0), b.intrinsic("sqrt", x))))


UPPER = -(1 << 32)
"""The upper word of an f64: all that rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read and write."""


def _upper_word(cx: Lowering) -> Value:
    b = cx.b
    (word,) = cx.sources("b64")
    return flush_f64(b, b.cast("bitcast", b.op("and", word, constant(word.type, UPPER)), "double"))


def _set_upper_word(cx: Lowering, ins: Instruction, result: Value) -> None:
    b = cx.b
    word = b.cast("bitcast", flush_f64(b, result), "i64")
    word = b.op("and", word, constant(word.type, UPPER))
    cx.set(ins.operands[0], b.select(is_nan(b, result), constant(word.type, NAN << 32), word))


def absolute(cx: Lowering, ins: Instruction) -> None:
    """abs."""
    if half_instructions.is_half(ins):
        half_instructions.absolute(cx, ins)
        return
    (x,) = operands(cx, ins, ins.type, 1)
    cx.set(ins.operands[0], cx.b.intrinsic("fabs", x))


def negate(cx: Lowering, ins: Instruction) -> None:
    """neg."""
    if half_instructions.is_half(ins):
        half_instructions.negate(cx, ins)
        return
    (x,) = operands(cx, ins, ins.type, 1)
    cx.set(ins.operands[0], negative(cx.b, x))


def copy_sign(cx: Lowering, ins: Instruction) -> None:
    """copysign d, a, b: the sign of a on b."""
    kind = ins.type
    sign, size = cx.sources(kind, kind)
    cx.set(ins.operands[0], cx.b.intrinsic("copysign", size, sign))


CLASSES = {
    "finite": 0x1F8, "infinite": 0x204, "number": 0x3FC, "notanumber": 0x003, "normal": 0x168, "subnormal": 0x090,
}  # fmt: skip
"""testp's tests as masks of `llvm.is.fpclass`; zeros count as normal (PTX ISA, testp)."""


def test(cx: Lowering, ins: Instruction) -> None:
    """testp."""
    (x,) = cx.sources(ins.type)
    mask = constant("i32", CLASSES[ins.modifiers[0]])
    cx.set(ins.operands[0], cx.b.intrinsic("is.fpclass", x, mask, result=like("i1", x.type)))


def extremes(name: str) -> Emitter:
    """min and max: .NaN, .abs, .xorsign."""

    def lower(cx: Lowering, ins: Instruction) -> None:
        if half_instructions.is_half(ins):
            half_instructions.extremes(cx, ins, name)
            return
        kind = ins.type
        args = operands(cx, ins, kind, 2)
        rules = sorted({"NaN", "abs", "xorsign"} & set(ins.modifiers))
        cx.set(ins.operands[0], cx.shared(".".join((name, *rules)), lambda b, *xs: extreme(b, name, xs, rules), *args))

    return lower
