"""How texels blend: NVIDIA's linear filter, bit for bit as an H200 was seen to do it.

Weights are whole numbers of 1/256 that come to 256. Integer texels are summed exactly and rounded to 16 bits. Floating
ones are cut to a few more bits than they have, counted from the largest texel that has a weight, summed exactly four at
a time, and the sum of it all is rounded half away from zero to the texels' own precision.
"""

from __future__ import annotations

from gridstride.virtual.abi.texture_objects import FORMATS
from gridstride.virtual.ir.builder import Builder, IrModule, Value, constant

QUAD = 4
FOUR = "<4 x double>"
_LONGS = "<4 x i64>"
_EXPONENT = 0x7FF0_0000_0000_0000
_LEAST = 890
"""A biased exponent below that of any texel, so that a scale stays a number."""
NAN = 0x7FFF_FFFF

FLOAT16, FLOAT32 = FORMATS.index("float16"), FORMATS.index("float32")
_SIGNED_8 = FORMATS.index("int8")


def four(value: float) -> Value:
    """A constant for all four channels."""
    return constant(FOUR, value)


def emit_filtering(m: IrModule) -> None:
    """gs_quad_aligned, gs_quad_plain, gs_round_float, gs_round_half, gs_round_integer."""
    _aligned(m)
    _plain(m)
    _round_float(m)
    _round_half(m)
    _round_integer(m)


def _longs(b: Builder, value: int) -> Value:
    return constant(_LONGS, value)


def _tap(b: Builder, values: Value, weights: Value, j: int) -> tuple[Value, Value]:
    return b.load(FOUR, b.offset(values, 32 * j)), b.load("i32", b.offset(weights, 4 * j))


def _splat(b: Builder, value: Value) -> Value:
    return b.splat(value, QUAD)


def _weighted(b: Builder, sum_: Value | None, value: Value, weight: Value) -> Value:
    """The sum so far and one more tap; a tap with no weight adds nothing, not even a NaN."""
    wide = _splat(b, b.cast("uitofp", weight, "double"))
    product = b.op("fmul", value, wide)
    off = _splat(b, weight == 0)
    product = b.select(off, four(-0.0), product)
    return product if sum_ is None else b.op("fadd", sum_, product)


def _aligned(m: IrModule) -> None:
    """Four taps of floating texels of which `bits` are kept below the largest one's exponent; the sum, not times 1/256.

    `carry` is added to a texel's bits before its exponent is taken. An infinity or NaN with a weight makes the sum what
    arithmetic makes of it.
    """
    head = ("ptr values", "ptr weights", "i64 bits", "i64 carry")
    with m.function(FOUR, "gs_quad_aligned", *head) as (b, (values, weights, bit_count, carry)):
        taps = [_tap(b, values, weights, j) for j in range(QUAD)]
        most: Value | None = None
        for value, weight in taps:
            word = b.bitcast(value, _LONGS) + _splat(b, carry)
            exponent = (word & _longs(b, _EXPONENT)) >> _longs(b, 52)
            exponent = b.select(_splat(b, weight == 0), _longs(b, 0), exponent)
            most = exponent if most is None else b.intrinsic("umax", most, exponent)
        assert most is not None
        endless = most == _longs(b, 0x7FF)
        most = b.intrinsic("umax", most, _longs(b, _LEAST))
        most = b.select(endless, _longs(b, 1023), most)
        bits = _splat(b, bit_count)
        scale = _power(b, bits + _longs(b, 2045) - most)
        back = _power(b, most + _longs(b, 1) - bits)
        sum_: Value | None = None
        loose: Value | None = None
        for value, weight in taps:
            cut = b.intrinsic("trunc", b.op("fmul", value, scale))
            sum_ = _weighted(b, sum_, cut, weight)
            loose = _weighted(b, loose, value, weight)
        assert sum_ is not None
        assert loose is not None
        b.ret(b.select(endless, loose, b.op("fmul", sum_, back)))


def _power(b: Builder, exponent: Value) -> Value:
    """2 to a biased exponent."""
    return b.bitcast(exponent << _longs(b, 52), FOUR)


def _plain(m: IrModule) -> None:
    """Four taps of integer texels: the exact sum, not times 1/256."""
    with m.function(FOUR, "gs_quad_plain", "ptr values", "ptr weights") as (b, (values, weights)):
        sum_: Value | None = None
        for j in range(QUAD):
            sum_ = _weighted(b, sum_, *_tap(b, values, weights, j))
        b.ret(sum_)


def _round_float(m: IrModule) -> None:
    """Sums of 1/256 to f32 bits: half away from zero, subnormal results to zero, any NaN to 0x7fffffff."""
    with m.function("<4 x i32>", "gs_round_float", f"{FOUR} sum") as (b, (sum_,)):
        value = b.op("fmul", sum_, four(1 / 256))
        word = (b.bitcast(value, _LONGS) + _longs(b, 1 << 28)) & _longs(b, -1 << 29)
        rounded = b.bitcast(word, FOUR)
        tiny = b.compare("olt", b.intrinsic("fabs", rounded), four(2.0**-126))
        rounded = b.select(tiny, b.intrinsic("copysign", four(0.0), rounded), rounded)
        endless = b.compare("ueq", b.intrinsic("fabs", value), Value(f"splat (double 0x{_EXPONENT:016X})", FOUR))
        rounded = b.select(endless, value, rounded)
        b.ret(_float_bits(b, rounded))


def _float_bits(b: Builder, value: Value) -> Value:
    nan = b.compare("uno", value, value)
    single = b.bitcast(b.define("<4 x float>", f"fptrunc {value!r} to <4 x float>"), "<4 x i32>")
    return b.select(nan, constant("<4 x i32>", NAN), single)


def _round_half(m: IrModule) -> None:
    """Sums of 1/256 to the nearest f16 (half away from zero), as f32 bits."""
    with m.function("<4 x i32>", "gs_round_half", f"{FOUR} sum") as (b, (sum_,)):
        value = b.op("fmul", sum_, four(1 / 256))
        word = (b.bitcast(value, _LONGS) + _longs(b, 1 << 41)) & _longs(b, -1 << 42)
        rounded = b.bitcast(word, FOUR)
        size = b.intrinsic("fabs", value)
        steps = b.intrinsic("floor", b.op("fadd", b.op("fmul", size, four(2.0**24)), four(0.5)))
        low = b.intrinsic("copysign", b.op("fmul", steps, four(2.0**-24)), value)
        rounded = b.select(b.compare("olt", size, four(2.0**-14)), low, rounded)
        endless = b.compare("ueq", size, Value(f"splat (double 0x{_EXPONENT:016X})", FOUR))
        b.ret(_float_bits(b, b.select(endless, value, rounded)))


def _round_integer(m: IrModule) -> None:
    """Sums of 1/256 of normalised integers (in 16 bits; signed bytes as they are) to f32 bits of their fractions."""
    with m.function("<4 x i32>", "gs_round_integer", f"{FOUR} sum", "i32 format") as (b, (sum_, format_)):
        byte = _splat(b, format_ == _SIGNED_8)
        plain = b.intrinsic("floor", b.op("fadd", b.op("fmul", sum_, four(1 / 256)), four(0.5)))
        units = b.select(byte, _widened(b, sum_), plain)
        single = b.define("<4 x float>", f"fptrunc {units!r} to <4 x float>")
        signed = _splat(b, (format_ & 1) == 1)
        most = b.select(signed, constant("<4 x float>", 32767.0), constant("<4 x float>", 65535.0))
        b.ret(b.bitcast(b.op("fdiv", single, most), "<4 x i32>"))


def _widened(b: Builder, sum_: Value) -> Value:
    """Signed bytes, of which 127 · 256 is 1, in 1/32767: S + (S + 16 · (S >> 12) + 64 >> 7) in whole numbers."""
    held = b.intrinsic("minnum", b.intrinsic("maxnum", sum_, four(-32512.0)), four(32512.0))
    coarse = b.intrinsic("floor", b.op("fmul", held, four(2.0**-12)))
    more = b.op("fadd", b.op("fadd", held, b.op("fmul", coarse, four(16.0))), four(64.0))
    return b.op("fadd", held, b.intrinsic("floor", b.op("fmul", more, four(2.0**-7))))
