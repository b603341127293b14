"""What all floating-point families share: operands, .ftz, .sat, canonical NaNs, checked modifiers."""

from __future__ import annotations

from gridstride.virtual.ir.builder import Builder, Value, bits, constant, element

FLOATS = {"f32": "float", "f64": "double"}
NAN = 0x7FFFFFFF
"""The NaN that NVIDIA's single-precision operations give."""


RAISE = 24
"""Digits of an f32: what is subnormal has all of them once it is 2²⁴ times larger."""


def flush(b: Builder, x: Value) -> Value:
    """Subnormal f32 numbers as zeros of the same sign."""
    return _flushed(b, x, "i32", 0x7F800000, 0x80000000)


def flush_tiny(b: Builder, x: Value, raised: Value) -> Value:
    """An f32 result as a zero where it is subnormal; `raised` is the same result from operands 2²⁴ times larger.

    A result counts as subnormal by the rounding it would have if exponents had no end (H200; x86's own mode too): one
    that only the steps between subnormal numbers take up to 2⁻¹²⁶ is flushed.
    """
    tiny = b.compare("olt", b.intrinsic("fabs", raised), constant(x.type, 2.0 ** (RAISE - 126)))
    return b.select(tiny, b.intrinsic("copysign", constant(x.type, 0.0), x), x)


def raise_tiny(b: Builder, x: Value) -> Value:
    """x by 2²⁴: exact where it matters, for flush_tiny."""
    return b.op("fmul", x, constant(x.type, 2.0**RAISE))


def flush_f64(b: Builder, x: Value) -> Value:
    """Subnormal f64 numbers as zeros of the same sign."""
    return _flushed(b, x, "i64", 0x7FF << 52, 1 << 63)


def flush_bits(b: Builder, word: Value, exponent: int, sign: int) -> Value:
    """A float's bits with subnormals made zeros; `exponent` and `sign` are the masks of those fields."""
    field = b.op("and", word, constant(word.type, exponent))
    zero = b.op("and", word, constant(word.type, sign))
    return b.select(b.compare("eq", field, constant(word.type, 0)), zero, word)


def _flushed(b: Builder, x: Value, integer: str, exponent: int, sign: int) -> Value:
    word = b.cast("bitcast", x, integer)
    return b.cast("bitcast", flush_bits(b, word, exponent, sign), element(x.type))


def saturate(b: Builder, x: Value) -> Value:
    """Clamped to [0, 1]; NaN and -0 become +0."""
    zero, one = constant(x.type, 0.0), constant(x.type, 1.0)
    positive = b.select(b.compare("ogt", x, zero), x, zero)
    return b.select(b.compare("olt", positive, one), positive, one)


def canonical(b: Builder, x: Value) -> Value:
    """Every f32 NaN as 0x7fffffff; f64 as it is."""
    if bits(x.type) != 32:
        return x
    word = b.cast("bitcast", x, "i32")
    nan = holds_nan(b, word, 0x7F800000)
    return b.cast("bitcast", b.select(nan, constant(word.type, NAN), word), "float")


def holds_nan(b: Builder, word: Value, exponent: int) -> Value:
    """True where a float's bits are a NaN; `exponent` is the mask of that field.

    For choosing a NaN by its bits: to LLVM all NaNs are alike, and it drops a choice among them that floats decide.
    """
    size = b.op("and", word, constant(word.type, (1 << (bits(word.type) - 1)) - 1))
    return b.compare("ugt", size, constant(word.type, exponent))


def negative(b: Builder, x: Value) -> Value:
    """-x, NaN included."""
    return b.define(x.type, f"fneg {x!r}")


def is_nan(b: Builder, x: Value) -> Value:
    return b.compare("uno", x, x)
