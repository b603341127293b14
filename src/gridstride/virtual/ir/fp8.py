"""The 8-bit floats e4m3 (no infinities, one NaN) and e5m2 (an f16 without its low byte)."""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.ir.builder import Builder, Value, constant
from gridstride.virtual.ir.float_common import is_nan

NAN = 0x7F


@dataclass(frozen=True, slots=True)
class Float8Format:
    """Digits after the point, exponent bias, and the code of the largest finite number."""

    digits: int
    bias: int
    largest: int


E4M3, E5M2 = Float8Format(3, 7, 0x7E), Float8Format(2, 15, 0x7B)
FORMATS = {"e4m3x2": E4M3, "e5m2x2": E5M2}


def encode(b: Builder, x: Value, kind: Float8Format, *, relu: bool) -> Value:
    """f32 as a code in an i32: to nearest, ties to even, too large becomes the largest finite number."""
    word = b.cast("bitcast", x, "i32")
    magnitude = b.op("and", word, constant(word.type, 0x7FFFFFFF))
    code = b.select(
        b.compare("ult", magnitude, constant(word.type, (128 - kind.bias) << 23)),
        _subnormal(b, magnitude, kind),
        _normal(b, magnitude, kind),
    )
    code = b.intrinsic("umin", code, constant(code.type, kind.largest))
    if relu:
        code = b.select(b.compare("slt", word, constant(word.type, 0)), constant(code.type, 0), code)
    else:
        sign = b.op("and", b.op("lshr", word, constant(word.type, 24)), constant(word.type, 0x80))
        code = b.op("or", code, sign)
    return b.select(is_nan(b, x), constant(code.type, NAN), code)


def _normal(b: Builder, magnitude: Value, kind: Float8Format) -> Value:
    dropped = 23 - kind.digits
    by = constant(magnitude.type, dropped)
    odd = b.op("and", b.op("lshr", magnitude, by), constant(magnitude.type, 1))
    up = b.op("add", b.op("add", magnitude, constant(magnitude.type, (1 << dropped - 1) - 1)), odd)
    return b.op("sub", b.op("lshr", up, by), constant(magnitude.type, (127 - kind.bias) << kind.digits))


def _subnormal(b: Builder, magnitude: Value, kind: Float8Format) -> Value:
    """Added to a number whose last digit has a subnormal's weight, it is rounded there by the addition."""
    x = b.cast("bitcast", magnitude, "float")
    anchor = constant(x.type, 2.0 ** (24 - kind.bias - kind.digits))
    total = b.cast("bitcast", b.op("fadd", x, anchor), "i32")
    return b.op("sub", total, b.cast("bitcast", anchor, "i32"))


def decode(b: Builder, code: Value, kind: Float8Format) -> Value:
    """A code in an i32 as f32, exactly (f16 has room for all of them); NaN is quiet."""
    low = b.op("and", code, constant(code.type, 0x7F))
    shifted = b.op("shl", low, constant(low.type, 23 - kind.digits))
    # The exponent field is read with f32's bias: a power of two makes up for it, for subnormals too.
    small = b.cast("bitcast", shifted, "float")
    x = b.op("fmul", small, constant(small.type, 2.0 ** (127 - kind.bias)))
    top = b.compare("ugt", low, constant(low.type, kind.largest))
    infinite = b.compare("eq", low, constant(low.type, 0x7C)) if kind is E5M2 else None
    special = constant(low.type, 0x7FFFFFFF)
    if infinite is not None:
        special = b.select(infinite, constant(low.type, 0x7F800000), special)
    word = b.select(top, special, b.cast("bitcast", x, "i32"))
    sign = b.op("shl", b.op("and", code, constant(code.type, 0x80)), constant(code.type, 24))
    return b.cast("bitcast", b.op("or", word, sign), "float")


def pack(b: Builder, upper: Value, lower: Value) -> Value:
    """Two codes as 16 bits."""
    word = b.op("or", b.op("shl", upper, constant(upper.type, 8)), lower)
    return b.resize(word, "i16")


def unpack(b: Builder, word: Value) -> list[Value]:
    """The upper and the lower code of 16 bits, as i32."""
    long = b.resize(word, "i32")
    return [b.op("lshr", long, constant(long.type, 8)), b.op("and", long, constant(long.type, 0xFF))]


__all__ = ["E4M3", "E5M2", "FORMATS", "decode", "encode", "pack", "unpack"]
