"""Rounding to fewer digits: f64 to f32, f32 to f16, bf16 and tf32, 64-bit integers to f64, in every direction.

The processor rounds to nearest. From whether that came out above or below the exact value follows how far a directed
rounding is from it: at most one step, which is one more or less in the bits. Rounding "to odd" (towards zero, then the
last bit set if anything was cut off) is the one that can be rounded again to a shorter format without error.
"""

from __future__ import annotations

from gridstride.virtual.ir import half
from gridstride.virtual.ir.builder import Builder, Value, bits, constant, element
from gridstride.virtual.ir.float_common import canonical, is_nan

MODES = ("rn", "rz", "rm", "rp")
ODD = "odd"


def stepped(b: Builder, word: Value, above: Value, below: Value, mode: str) -> Value:
    """Bits of a nearest value moved to the rounding wanted; `above`, `below`: it is more, less than the exact one."""
    if mode == "rn":
        return word
    one = constant(word.type, 1)
    kind = element(word.type)
    negative = b.compare("slt", word, constant(word.type, 0))
    if mode in ("rz", ODD):
        step_back = b.select(negative, below, above)
        word = b.op("sub", word, b.cast("zext", step_back, kind))
        return b.op("or", word, b.cast("zext", b.op("or", above, below), kind)) if mode == ODD else word
    # One step down is one less for a positive number and one more in the bits of a negative one; up the other way.
    inwards = constant(word.type, -1)
    step = b.select(negative, one, inwards) if mode == "rm" else b.select(negative, inwards, one)
    wrong = above if mode == "rm" else below
    return b.op("add", word, b.select(wrong, step, constant(word.type, 0)))


def _compared(b: Builder, near: Value, exact: Value) -> tuple[Value, Value]:
    return b.compare("ogt", near, exact), b.compare("olt", near, exact)


def to_single(b: Builder, x: Value, mode: str) -> Value:
    """f64 as f32; every NaN as 0x7fffffff. An f32 stays as it is."""
    if bits(x.type) == 32:
        return x
    near = b.cast("fptrunc", x, "float")
    above, below = _compared(b, b.cast("fpext", near, "double"), x)
    word = stepped(b, b.cast("bitcast", near, "i32"), above, below, mode)
    return canonical(b, b.cast("bitcast", word, "float"))


def to_half(b: Builder, x: Value, kind: half.Half, mode: str) -> Value:
    """f32 as the bits of an f16 or bf16; every NaN as 0x7fff."""
    near = half.narrow(b, x, kind)
    if mode == "rn":
        return near
    return stepped(b, near, *_compared(b, half.widen(b, near, kind), x), mode)


def to_tf32(b: Builder, x: Value, mode: str) -> Value:
    """f32 with 10 digits after the point, as bits; `rna` rounds ties away from zero. Every NaN is 0x7fffffff."""
    word = b.cast("bitcast", x, "i32")
    if mode == "rna":
        word = b.op("add", word, constant(word.type, 0x1000))
    elif mode == "rn":
        odd = b.op("and", b.op("lshr", word, constant(word.type, 13)), constant(word.type, 1))
        word = b.op("add", b.op("add", word, constant(word.type, 0xFFF)), odd)
    word = b.op("and", word, constant(word.type, ~0x1FFF))
    return b.select(is_nan(b, x), constant(word.type, 0x7FFFFFFF), word)


def to_double(b: Builder, x: Value, mode: str, *, signed: bool) -> Value:
    """A 64-bit integer as f64. The halves are exact as doubles, so their sum's rounding error is too (Dekker)."""
    shift = constant(x.type, 32)
    high = b.cast("sitofp" if signed else "uitofp", b.op("ashr" if signed else "lshr", x, shift), "double")
    high = b.op("fmul", high, constant(high.type, 2.0**32))
    low = b.cast("uitofp", b.op("and", x, constant(x.type, 0xFFFFFFFF)), "double")
    near = b.op("fadd", high, low)
    error = b.op("fsub", low, b.op("fsub", near, high))
    zero = constant(error.type, 0.0)
    word = b.cast("bitcast", near, "i64")
    word = stepped(b, word, b.compare("olt", error, zero), b.compare("ogt", error, zero), mode)
    return b.cast("bitcast", word, "double")


def finite(b: Builder, word: Value, infinity: int, largest: int) -> Value:
    """Bits of a float with infinities made the largest finite number; `infinity` is the positive one's bits."""
    top = 1 << bits(word.type) - 1
    magnitude = b.op("and", word, constant(word.type, top - 1))
    limited = b.op("or", b.op("and", word, constant(word.type, top)), constant(word.type, largest))
    return b.select(b.compare("eq", magnitude, constant(word.type, infinity)), limited, word)
