"""f16, f16x2, bf16 and bf16x2: held as their bits, computed in f32 and rounded once.

A sum or product of two halves rounds the same from f32 as from the exact value, since f32 has more than twice their
digits and two more. A fused multiply-add has not: there the exact sum is first rounded to odd, which keeps in the last
digit that something was cut off. NaN results are NVIDIA's canonical 0x7fff.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.ir.builder import Builder, Value, bits, constant, lanes_of
from gridstride.virtual.ir.float_common import holds_nan


@dataclass(frozen=True, slots=True)
class Half:
    """A 16-bit float: the mask of its exponent field."""

    name: str
    exponent: int


F16, BF16 = Half("f16", 0x7C00), Half("bf16", 0x7F80)
SIGN, NAN, OUTSIDE = 0x8000, 0x7FFF, 0x7FF7
LEAST_KEPT = 2.0**-14 * (1 - 2.0**-12)
"""What 11 digits round to f16's smallest normal number; a tie goes up to it, being even."""


# -- bits -------------------------------------------------------------------------------------------------------------


def split(b: Builder, value: Value) -> Value:
    """i32 as two i16, lowest first; i16 as it is."""
    return b.bitcast(value, f"<{2 * lanes_of(value)} x i16>") if bits(value.type) == 32 else value


# -- conversion -------------------------------------------------------------------------------------------------------
def widen(b: Builder, word: Value, kind: Half) -> Value:
    """Bits of halves as f32, exactly."""
    if kind is F16:
        return b.cast("fpext", b.cast("bitcast", word, "half"), "float")
    long = b.resize(word, "i32")
    return b.cast("bitcast", b.op("shl", long, constant(long.type, 16)), "float")


def narrow(b: Builder, x: Value, kind: Half) -> Value:
    """f32 rounded to the nearest half, ties to even, as bits; NaN is 0x7fff."""
    long = b.cast("bitcast", x, "i32")
    if kind is F16:
        word = b.cast("bitcast", b.cast("fptrunc", x, "half"), "i16")
    else:
        odd = b.op("and", b.op("lshr", long, constant(long.type, 16)), constant(long.type, 1))
        up = b.op("add", b.op("add", long, constant(long.type, 0x7FFF)), odd)
        word = b.resize(b.op("lshr", up, constant(long.type, 16)), "i16")
    return b.select(holds_nan(b, long, 0x7F800000), constant(word.type, NAN), word)


# -- fused multiply-add -----------------------------------------------------------------------------------------------
def fused(b: Builder, kind: Half, x: Value, y: Value, z: Value) -> Value:
    """x · y + z of halves given as f32, as an f32 that rounds to the right half."""
    if kind is F16:
        return _odd_sum(b, b.op("fmul", x, y), z)  # 22 digits and an exponent that f32 has: the product is exact
    x, y, z = (b.cast("fpext", v, "double") for v in (x, y, z))
    return _narrow_odd(b, _odd_sum(b, b.op("fmul", x, y), z))


def _odd_sum(b: Builder, p: Value, c: Value) -> Value:
    """p + c rounded to odd, from the rounded sum and its exact error (Knuth's two-sum)."""
    s = b.op("fadd", p, c)
    back = b.op("fsub", s, p)
    error = b.op("fadd", b.op("fsub", p, b.op("fsub", s, back)), b.op("fsub", c, back))
    inexact = b.compare("one", error, constant(error.type, 0.0))
    integer = f"i{bits(s.type)}"
    word, sign = b.cast("bitcast", s, integer), b.cast("bitcast", error, integer)
    rounded_away = b.compare("slt", b.op("xor", word, sign), constant(word.type, 0))
    return _to_odd(b, s, inexact, rounded_away)


def _to_odd(b: Builder, s: Value, inexact: Value, rounded_away: Value) -> Value:
    """A nearest value made odd: one step toward zero where rounding went away from it, then the last digit set."""
    word = b.cast("bitcast", s, f"i{bits(s.type)}")
    cut = b.op("sub", word, b.cast("zext", rounded_away, f"i{bits(s.type)}"))
    odd = b.op("or", cut, constant(word.type, 1))
    return b.cast("bitcast", b.select(inexact, odd, word), "float" if bits(s.type) == 32 else "double")


def _narrow_odd(b: Builder, x: Value) -> Value:
    """f64 to f32, rounded to odd."""
    single = b.cast("fptrunc", x, "float")
    back = b.cast("fpext", single, "double")
    rounded_away = b.compare("ogt", b.intrinsic("fabs", back), b.intrinsic("fabs", x))
    return _to_odd(b, single, b.compare("one", back, x), rounded_away)


# -- instructions -----------------------------------------------------------------------------------------------------
def compute(b: Builder, name: str, kind: Half, args: list[Value]) -> Value:
    """fadd, fsub, fmul or fma of halves given as f32, as an f32 still to be rounded to a half."""
    return fused(b, kind, *args) if name == "fma" else b.op(name, *args)
