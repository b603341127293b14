"""Minimum and maximum as PTX has them: a number beats NaN unless .NaN, -0 < +0, .abs, .xorsign."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gridstride.virtual.ir.builder import Builder, Value, bits, constant, element
from gridstride.virtual.ir.float_common import canonical, is_nan

_INTRINSICS = {"min": ("minimumnum", "minimum"), "max": ("maximumnum", "maximum")}


def extreme(b: Builder, name: str, args: Sequence[Value], modifiers: Collection[str]) -> Value:
    """`name` is min or max; two or three values of f32 or f64. NaN results of f32 are canonical."""
    sign = _differing_sign(b, args) if "xorsign" in modifiers else None
    if "abs" in modifiers:
        args = [b.intrinsic("fabs", a) for a in args]
    intrinsic = _INTRINSICS[name]["NaN" in modifiers]
    result = args[0]
    for argument in args[1:]:
        result = b.intrinsic(intrinsic, result, argument)
    if sign is not None:
        result = _with_sign(b, result, sign)
    return canonical(b, result)


def _differing_sign(b: Builder, args: Sequence[Value]) -> Value:
    x, y = (b.cast("bitcast", a, f"i{bits(a.type)}") for a in args)
    either = b.op("xor", x, y)
    return b.op("and", either, constant(either.type, 1 << (bits(either.type) - 1)))


def _with_sign(b: Builder, result: Value, sign: Value) -> Value:
    """The magnitudes' extreme with the sign set; a NaN keeps its own."""
    word = b.op("or", b.cast("bitcast", result, element(sign.type)), sign)
    return b.select(is_nan(b, result), result, b.cast("bitcast", word, element(result.type)))
