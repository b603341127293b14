"""Powers of two, and f64 sums cut to f32 or prepared for rounding to f16."""

from __future__ import annotations

from gridstride.virtual.ir.builder import Builder, Value, constant

DROPPED = (1 << 29) - 1
"""The digits that f64 has and f32 has not."""


def power(b: Builder, exponent: Value, type_: str) -> Value:
    """2 to an i32 that gives a normal number of the type."""
    if type_ == "float":
        field = b.op("add", exponent, constant(exponent.type, 127))
        return b.cast("bitcast", b.op("shl", field, constant(field.type, 23)), "float")
    field = b.resize(b.op("add", exponent, constant(exponent.type, 1023)), "i64")
    return b.cast("bitcast", b.op("shl", field, constant(field.type, 52)), "double")


def truncated(b: Builder, x: Value, *, subnormal: bool = False) -> Value:
    """f64 toward zero as f32, infinite from 2^128 on; `subnormal`: x may be smaller than f32's normal numbers."""
    word = b.cast("bitcast", x, "i64")
    cut = b.cast("bitcast", b.op("and", word, constant(word.type, ~DROPPED)), "double")
    if subnormal:
        counted = b.intrinsic("trunc", b.op("fmul", x, constant(x.type, 2.0**149)))
        small = b.op("fmul", counted, constant(x.type, 2.0**-149))
        below = b.compare("olt", b.intrinsic("fabs", x), constant(x.type, 2.0**-126))
        cut = b.select(below, small, cut)
    return b.cast("fptrunc", cut, "float")


def to_odd(b: Builder, x: Value) -> Value:
    """f64 as f32, cut, its last digit set where anything was cut off: rounds on to f16 as x itself would."""
    word = b.cast("bitcast", x, "i64")
    lost = b.compare("ne", b.op("and", word, constant(word.type, DROPPED)), constant(word.type, 0))
    sticky = b.op("shl", b.cast("zext", lost, "i64"), constant(word.type, 29))
    odd = b.op("or", b.op("and", word, constant(word.type, ~DROPPED)), sticky)
    return b.cast("fptrunc", b.cast("bitcast", odd, "double"), "float")
