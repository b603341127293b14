"""Floating-point arithmetic of f32 and f64: add sub mul fma mad div rcp sqrt rsqrt abs neg min max copysign testp.

Results are those of IEEE 754 in the rounding the instruction names. `.approx` and `.full` forms are computed exactly
where a division or a square root does it: closer than the ISA asks. `.ftz` makes zeros of subnormal inputs and results,
sign kept; a result counts as subnormal after rounding, which for mul and fma is `flush_tiny`'s.

A NaN that div, rcp, sqrt, rsqrt, min, max or a directed rounding gives as f32 is NVIDIA's canonical 0x7fffffff. Plain
add, sub, mul and fma, which kernels spend their time in, give whatever NaN the processor makes (0xffc00000 for an
invalid operation on x86), and so do all f64 operations (there x86 and NVIDIA agree on 0xfff8000000000000).
"""

from __future__ import annotations

from dataclasses import replace

from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions import half
from gridstride.virtual.lowering.instructions.extrema import extreme
from gridstride.virtual.lowering.instructions.floats import (
    FLOATS,
    NAN,
    Family,
    canonical,
    check,
    finish,
    flush_f64,
    flush_tiny,
    is_nan,
    negative,
    operands,
    raise_tiny,
)
from gridstride.virtual.lowering.instructions.rounding import directed, mode_of
from gridstride.virtual.lowering.ir import Value, constant, like
from gridstride.virtual.ptx.module import Instruction

ROUNDINGS = frozenset({"rn", "rz", "rm", "rp"})


def _kind(cx: Lowering, ins: Instruction, allowed: frozenset[str] | set[str]) -> str:
    """The instruction's one type, f32 or f64, with nothing beside it but the allowed modifiers."""
    check(cx, ins, allowed)
    if len(ins.types) != 1 or ins.types[0] not in FLOATS:
        raise cx.unsupported(f"`{ins.name}`")
    kind = ins.types[0]
    if kind == "f64" and {"ftz", "sat", "full"} & set(ins.modifiers) and "approx" not in ins.modifiers:
        raise cx.unsupported(f"`{ins.name}`")
    return kind


def rounded(cx: Lowering, ins: Instruction, name: str, args: list[Value]) -> Value:
    """One of fadd, fsub, fmul, fdiv, fma, sqrt in the instruction's rounding."""
    mode = mode_of(ins)
    if mode != "rn":
        return canonical(cx.b, directed(cx, name, mode, args))
    if name in ("fma", "sqrt"):
        return cx.b.intrinsic(name, *args)
    return cx.b.op(name, *args)


def _arithmetic(name: str, count: int) -> Family:
    """add, sub, mul, fma: a plain operation with all four roundings, .ftz and .sat."""

    def lower(cx: Lowering, ins: Instruction) -> None:
        if half.is_half(ins):
            half.arithmetic(cx, ins, name)
            return
        kind = _kind(cx, ins, ROUNDINGS | {"ftz", "sat"})
        args = operands(cx, ins, kind, count)
        result = rounded(cx, ins, name, args)
        if "ftz" in ins.modifiers and name in ("fmul", "fma"):  # sums alone are exact where they are subnormal
            raised = [a if i == 1 else raise_tiny(cx.b, a) for i, a in enumerate(args)]
            result = flush_tiny(cx.b, result, rounded(cx, ins, name, raised))
        finish(cx, ins, result)

    return lower


def divide(cx: Lowering, ins: Instruction) -> None:
    """div."""
    kind = _kind(cx, ins, ROUNDINGS | {"ftz", "approx", "full"})
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
    if ins.types == ("f64",):  # ptxas takes .ftz beside a rounding, and an H200 flushes nothing
        ins = replace(ins, modifiers=tuple(m for m in ins.modifiers if m != "ftz"))
    kind = _kind(cx, ins, ROUNDINGS | {"ftz", "approx"})
    (x,) = operands(cx, ins, kind, 1)
    finish(cx, ins, canonical(cx.b, rounded(cx, ins, "fdiv", [constant(x.type, 1.0), x])))


def square_root(cx: Lowering, ins: Instruction) -> None:
    """sqrt."""
    kind = _kind(cx, ins, ROUNDINGS | {"ftz", "approx"})
    finish(cx, ins, canonical(cx.b, rounded(cx, ins, "sqrt", operands(cx, ins, kind, 1))))


def reciprocal_root(cx: Lowering, ins: Instruction) -> None:
    """rsqrt: two roundings, within 2^-22.9 of the value."""
    b = cx.b
    if ins.modifiers == ("approx", "ftz", "f64"):
        x = _upper_word(cx)
        _set_upper_word(cx, ins, b.op("fdiv", constant(x.type, 1.0), b.intrinsic("sqrt", x)))
        return
    kind = _kind(cx, ins, {"ftz", "approx"})
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
    if half.is_half(ins):
        half.absolute(cx, ins)
        return
    (x,) = operands(cx, ins, _kind(cx, ins, {"ftz"}), 1)
    cx.set(ins.operands[0], cx.b.intrinsic("fabs", x))


def negate(cx: Lowering, ins: Instruction) -> None:
    """neg."""
    if half.is_half(ins):
        half.negate(cx, ins)
        return
    (x,) = operands(cx, ins, _kind(cx, ins, {"ftz"}), 1)
    cx.set(ins.operands[0], negative(cx.b, x))


def copy_sign(cx: Lowering, ins: Instruction) -> None:
    """copysign d, a, b: the sign of a on b."""
    kind = _kind(cx, ins, set())
    sign, size = cx.sources(kind, kind)
    cx.set(ins.operands[0], cx.b.intrinsic("copysign", size, sign))


CLASSES = {
    "finite": 0x1F8, "infinite": 0x204, "number": 0x3FC, "notanumber": 0x003, "normal": 0x168, "subnormal": 0x090,
}  # fmt: skip
"""testp's tests as masks of `llvm.is.fpclass`; zeros count as normal (PTX ISA, testp)."""


def test(cx: Lowering, ins: Instruction) -> None:
    """testp."""
    kind = _kind(cx, ins, set(CLASSES))
    wanted = next((m for m in ins.modifiers if m in CLASSES), None)
    if wanted is None:
        raise cx.unsupported(f"`{ins.name}`")
    (x,) = cx.sources(kind)
    mask = constant("i32", CLASSES[wanted])
    cx.set(ins.operands[0], cx.b.intrinsic("is.fpclass", x, mask, result=like("i1", x.type)))


def _extreme(name: str) -> Family:
    """min and max: .NaN, .abs, .xorsign."""

    def lower(cx: Lowering, ins: Instruction) -> None:
        if half.is_half(ins):
            half.extremes(cx, ins, name)
            return
        kind = _kind(cx, ins, {"ftz", "NaN", "abs", "xorsign"})
        args = operands(cx, ins, kind, 2)
        cx.set(ins.operands[0], extreme(cx.b, name, args, ins.modifiers))

    return lower


FLOATING: dict[str, Family] = {
    "add": _arithmetic("fadd", 2), "sub": _arithmetic("fsub", 2), "mul": _arithmetic("fmul", 2),
    "mad": _arithmetic("fma", 3), "fma": _arithmetic("fma", 3), "div": divide, "abs": absolute, "neg": negate,
    "min": _extreme("min"), "max": _extreme("max"),
}  # fmt: skip
"""Opcodes that integers have too: these are for floating types."""

FAMILY: dict[str, Family] = {
    "rcp": reciprocal, "sqrt": square_root, "rsqrt": reciprocal_root, "copysign": copy_sign, "testp": test,
}  # fmt: skip

__all__ = ["FAMILY", "FLOATING"]
