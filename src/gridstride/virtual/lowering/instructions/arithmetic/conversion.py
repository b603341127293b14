"""cvt between integers and floats of all widths, packed halves and 8-bit floats; cvt.pack; and mov.

A conversion to a float goes through a value that is exact, or rounded to odd, and is rounded once at the end.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridstride.virtual.ir import fp8, half
from gridstride.virtual.ir.builder import Builder, Value, bits, constant
from gridstride.virtual.ir.float_common import flush, flush_tiny, is_nan, raise_tiny, saturate
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.arithmetic.narrowing import (
    MODES,
    ODD,
    finite,
    to_double,
    to_half,
    to_single,
    to_tf32,
)
from gridstride.virtual.ptx.module import Instruction
from gridstride.virtual.ptx.types import TYPES

_INTEGERS = frozenset(["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"])
_HALVES = {"f16": half.F16, "bf16": half.BF16, "f16x2": half.F16, "bf16x2": half.BF16}
_FLOATS = frozenset(["f16", "bf16", "f32", "f64"])
_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_INFINITY = {half.F16: 0x7C00, half.BF16: 0x7F80}


def convert(cx: Lowering, ins: Instruction) -> None:
    """cvt."""
    if "pack" in ins.modifiers:
        _pack_integers(cx, ins)
        return
    to, of = ins.types
    if to in _INTEGERS and of in _INTEGERS:
        _integer_to_integer(cx, ins)
    elif to in _INTEGERS and of in _FLOATS:
        _float_to_integer(cx, ins)
    elif to in _FLOATS and of in _INTEGERS:
        _integer_to_float(cx, ins)
    elif to in _FLOATS and of in _FLOATS:
        (x,) = _floats(cx, ins, cx.sources(of), of)
        cx.set(ins.operands[0], _rounded(cx, ins, _integral(cx.b, ins, x), to, _mode(ins)))
    else:
        _packed(cx, ins)


def _mode(ins: Instruction) -> str:
    return next((m for m in ins.modifiers if m in MODES), "rn")


# -- integers ---------------------------------------------------------------------------------------------------------
def limits(size: int, *, signed: bool) -> tuple[int, int]:
    """The least and the greatest integer of `size` bits."""
    return (-(1 << size - 1), (1 << size - 1) - 1) if signed else (0, (1 << size) - 1)


def _integer_to_integer(cx: Lowering, ins: Instruction) -> None:
    b, (to, of) = cx.b, ins.types
    (x,) = cx.sources(of)
    signed = of[0] == "s"
    if "sat" in ins.modifiers:
        low, high = limits(TYPES[to].bits, signed=to[0] == "s")
        least, most = limits(TYPES[of].bits, signed=signed)
        if low > least:
            x = b.intrinsic("smax", x, constant(x.type, low))
        if high < most:
            x = b.intrinsic("smin" if signed else "umin", x, constant(x.type, high))
    cx.set(ins.operands[0], b.resize(x, f"i{TYPES[to].bits}", signed=signed), signed=to[0] == "s")


def _pack_integers(cx: Lowering, ins: Instruction) -> None:
    """cvt.pack.sat: two saturated integers side by side, below the low bits of c."""
    b = cx.b
    to = ins.types[0]
    x, y, *c = cx.sources(*("s32", "s32", "b32")[: len(ins.operands) - 1])
    size = TYPES[to].bits
    low, high = limits(size, signed=to[0] == "s")
    upper, lower = (
        b.intrinsic("smin", b.intrinsic("smax", v, constant(v.type, low)), constant(v.type, high)) for v in (x, y)
    )
    mask = constant(x.type, (1 << size) - 1)
    upper = b.op("shl", b.op("and", upper, mask), constant(x.type, size))
    result = b.op("or", upper, b.op("and", lower, mask))
    for word in c:
        result = b.op("or", result, b.op("shl", word, constant(word.type, 2 * size)))
    cx.set(ins.operands[0], result)


# -- floats to integers -----------------------------------------------------------------------------------------------
def _floats(cx: Lowering, ins: Instruction, values: Iterable[Value], of: str) -> list[Value]:
    """Sources as f32, or f64 where they are; subnormal f32 flushed where the instruction says so.

    To f16 an H200 rounds a subnormal f32 as it is, whatever .ftz says: away from 0 that gives the least f16.
    """
    if of in _HALVES:
        return [half.widen(cx.b, v, _HALVES[of]) for v in values]
    flushed = of == "f32" and "ftz" in ins.modifiers and ins.types[0] != "f16"
    return [flush(cx.b, v) if flushed else v for v in values]


def _integral(b: Builder, ins: Instruction, x: Value) -> Value:
    """x rounded to an integral value where the instruction names an integer rounding."""
    name = next((m for m in ins.modifiers if m in _INTEGRAL), None)
    return x if name is None else b.intrinsic(_INTEGRAL[name], x)


def _float_to_integer(cx: Lowering, ins: Instruction) -> None:
    to, of = ins.types
    (x,) = _floats(cx, ins, cx.sources(of), of)
    size, signed = TYPES[to].bits, to[0] == "s"
    nan = 1 << size - 1 if of == "f64" or size == 64 else 0
    if "rzi" not in ins.modifiers:  # to_integer truncates by itself
        x = _integral(cx.b, ins, x)
    result = to_integer(cx.b, x, size, nan, signed=signed)
    cx.set(ins.operands[0], result, signed=signed)


def to_integer(b: Builder, x: Value, size: int, nan: int, *, signed: bool) -> Value:
    """x truncated and limited to what `size` bits hold; `nan` for NaN.

    What does not fit is poison in LLVM until the selects replace it.
    """
    low, high = limits(size, signed=signed)
    word = b.cast("fptosi" if signed or size < 32 else "fptoui", x, f"i{max(size, 32)}")
    word = b.select(b.compare("oge", x, constant(x.type, float(high + 1))), constant(word.type, high), word)
    word = b.select(b.compare("olt", x, constant(x.type, float(low))), constant(word.type, low), word)
    return b.resize(b.select(is_nan(b, x), constant(word.type, nan), word), f"i{size}")


# -- to floats --------------------------------------------------------------------------------------------------------
def _integer_to_float(cx: Lowering, ins: Instruction) -> None:
    b, (to, of) = cx.b, ins.types
    (x,) = cx.sources(of)
    signed, size, mode = of[0] == "s", TYPES[of].bits, _mode(ins)
    name = "sitofp" if signed else "uitofp"
    if size < 32 or (to == "f32" and mode == "rn"):
        value = b.cast(name, x, "float")
    elif size == 32 or (to == "f64" and mode == "rn"):
        value = b.cast(name, x, "double")
    else:
        value = to_double(b, x, mode if to == "f64" else ODD, signed=signed)
    cx.set(ins.operands[0], _rounded(cx, ins, value, to, mode))


def _rounded(cx: Lowering, ins: Instruction, x: Value, to: str, mode: str) -> Value:
    """An f32 or f64 in the format wanted, with .sat, .relu, .satfinite and .ftz of the result."""
    b = cx.b
    if "sat" in ins.modifiers:
        x = saturate(b, x)
    if to == "f64":
        return b.cast("fpext", x, "double")
    if to == "f32":
        single = to_single(b, x, mode)
        if "ftz" not in ins.modifiers:
            return single
        return flush(b, x) if bits(x.type) == 32 else flush_tiny(b, single, to_single(b, raise_tiny(b, x), mode))
    kind = _HALVES[to]
    name = f"{kind.name}_{mode}_of_f{bits(x.type)}"
    word = cx.shared(name, lambda b, value: to_half(b, to_single(b, value, ODD), kind, mode), x)
    return _limited(b, ins, word, _INFINITY[kind], _INFINITY[kind] - 1)


def _limited(b: Builder, ins: Instruction, word: Value, infinity: int, largest: int) -> Value:
    """Bits of a float after .satfinite and .relu. NaN is canonical, and positive, by now."""
    if "satfinite" in ins.modifiers:
        word = finite(b, word, infinity, largest)
    return b.intrinsic("smax", word, constant(word.type, 0)) if "relu" in ins.modifiers else word


# -- packed formats ---------------------------------------------------------------------------------------------------
def _packed(cx: Lowering, ins: Instruction) -> None:
    to, of = ins.types
    if to == "tf32":
        _to_tf32(cx, ins)
    elif to in fp8.FORMATS:
        _to_fp8(cx, ins)
    elif of == "f32":
        x, y = _floats(cx, ins, cx.sources(of, of), of)
        _set_halves(cx, ins, x, y)
    else:
        (word,) = cx.sources("b16")
        _set_halves(cx, ins, *(fp8.decode(cx.b, code, fp8.FORMATS[of]) for code in fp8.unpack(cx.b, word)))


def _set_halves(cx: Lowering, ins: Instruction, upper: Value, lower: Value) -> None:
    b = cx.b
    high, low = (b.resize(_rounded(cx, ins, x, ins.types[0], _mode(ins)), "i32") for x in (upper, lower))
    cx.set(ins.operands[0], b.op("or", b.op("shl", high, constant(high.type, 16)), low))


def _to_tf32(cx: Lowering, ins: Instruction) -> None:
    (x,) = cx.sources("f32")
    word = to_tf32(cx.b, x, "rna" if "rna" in ins.modifiers else _mode(ins))
    cx.set(ins.operands[0], _limited(cx.b, ins, word, 0x7F800000, 0x7F7FE000))


def _to_fp8(cx: Lowering, ins: Instruction) -> None:
    b, (to, of) = cx.b, ins.types
    if of == "f32":
        pair = cx.sources(of, of)
    else:
        (word,) = cx.sources(of)
        high = b.op("lshr", word, constant(word.type, 16))
        pair = [half.widen(b, b.resize(v, "i16"), _HALVES[of]) for v in (high, word)]
    upper, lower = (fp8.encode(b, x, fp8.FORMATS[to], relu="relu" in ins.modifiers) for x in pair)
    cx.set(ins.operands[0], fp8.pack(b, upper, lower))
