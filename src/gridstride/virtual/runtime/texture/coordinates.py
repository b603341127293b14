"""From a texture coordinate to texels: which two along an axis, and how much of the second in 1/256.

As an H200 does it (tests/virtual/fixtures/textures_h200.npz): normalised coordinates are cut to 21 fraction bits, a
linear filter rounds the position to 1/256 of a texel, half up; NaN and subnormal numbers are 0.
"""

from __future__ import annotations

from gridstride.virtual.abi.texture_objects import ADDRESS_MODES
from gridstride.virtual.ir.builder import Builder, IrModule, Value, constant
from gridstride.virtual.runtime.common import i32, i64

SPAN = "{ i32, i32, i32 }"
"""First texel, second texel, weight of the second in 1/256. Texel -1 is the border."""

FRACTION = 21
"""Bits of a normalised coordinate below the point."""
_FAR = 2.0**30
_CLAMP, _WRAP, _MIRROR = (ADDRESS_MODES.index(mode) for mode in ("clamp", "wrap", "mirror"))


def parts(b: Builder, span: Value) -> list[Value]:
    """The three numbers of a span."""
    return [b.define("i32", f"extractvalue {span!r}, {j}") for j in range(3)]


def span(b: Builder, *numbers: Value) -> Value:
    result = Value("poison", SPAN)
    for j, number in enumerate(numbers):
        result = b.define(SPAN, f"insertvalue {result!r}, {number!r}, {j}")
    return result


def emit_coordinates(m: IrModule) -> None:
    """gs_axis: the span of a coordinate (f32 bits) along an axis of `size` texels; `linear` as the filter does it."""
    with m.function(SPAN, "gs_axis", "object* object", "i32 axis", "i32 word", "i32 size", "i32 linear") as (b, args):
        object_, axis, word, size, linear = args
        modes = object_.field("address")
        mode = b.load("i32", b.offset(modes, b.resize(axis, "i64") * 4))
        coordinate = _number(b, word)
        long, smooth = b.resize(size, "i64"), linear != 0
        normalized = object_.normalized != 0
        pointer = b.alloca("i64")
        with b.if_(normalized):
            b.store(_normalized(b, coordinate, mode, long, smooth), pointer)
        with b.if_(~normalized):
            b.store(_texels(b, coordinate, smooth), pointer)
        fixed = b.load("i64", pointer)
        texel = b.select(smooth, b.op("ashr", fixed, i64(8)), fixed)
        weight = b.select(smooth, b.resize(fixed, "i32") & 255, i32(0))
        first = b.resize(texel, "i32")
        b.ret(_addressed(b, mode, first, first + 1, size, weight))


def _number(b: Builder, word: Value) -> Value:
    """The coordinate as a double; NaN and subnormal numbers as 0."""
    size = word & 0x7FFFFFFF
    normal = size - 0x00800000 < 0x7F800001 - 0x00800000
    number = b.define("double", f"fpext float {b.bitcast(word, 'float').name} to double")
    return b.select(normal, number, constant("double", 0.0))


def _held(b: Builder, x: Value, most: float) -> Value:
    return b.intrinsic("minnum", b.intrinsic("maxnum", x, constant("double", -most)), constant("double", most))


def _long(b: Builder, x: Value) -> Value:
    return b.define("i64", f"fptosi {x!r} to i64")


def _normalized(b: Builder, x: Value, mode: Value, size: Value, smooth: Value) -> Value:
    """Texels, or 1/256 of them less half a texel, of a coordinate that counts the whole axis as 1."""
    scaled = b.op("fmul", _held(b, x, _FAR), constant("double", 2.0**FRACTION))
    fixed = _long(b, b.intrinsic("floor", scaled))
    once, twice = (fixed & ((1 << (FRACTION + n)) - 1) for n in (0, 1))
    near = b.intrinsic("smin", b.intrinsic("smax", fixed, i64(-1 << 30)), i64(1 << 30))
    turned = b.select(mode == _WRAP, once, near)
    turned = b.select(mode == _MIRROR, twice, turned)
    texels = turned * size
    fine = b.op("ashr", texels + (1 << (FRACTION - 9)), i64(FRACTION - 8))
    return b.select(smooth, fine - 128, b.op("ashr", texels, i64(FRACTION)))


def _texels(b: Builder, x: Value, smooth: Value) -> Value:
    """The same of a coordinate that counts texels."""
    held = _held(b, x, _FAR)
    fine = b.op("fadd", b.op("fmul", held, constant("double", 256.0)), constant("double", 0.5))
    texel = _long(b, b.intrinsic("floor", b.select(smooth, fine, held)))
    return b.select(smooth, texel - 128, texel)


def _addressed(b: Builder, mode: Value, first: Value, second: Value, size: Value, weight: Value) -> Value:
    """The span under the axis' address mode; at a clamped edge both texels are one, and the first has all weight."""
    last = size - 1
    is_clamp = mode == _CLAMP
    edge = b.compare("slt", first, i32(0)) | b.compare("sge", first, last)
    weight = b.select(is_clamp & edge, i32(0), weight)
    addressed = []
    for texel in (first, second):
        clamped = b.intrinsic("smin", b.intrinsic("smax", texel, i32(0)), last)
        wrapped = _once_round(b, texel, size)
        double = _once_round(b, texel, size << 1)
        back = (size << 1) - 1 - double
        mirrored = b.select(b.compare("slt", double, size), double, back)
        inside = b.select(texel < size, texel, i32(-1))
        chosen = b.select(mode == _WRAP, wrapped, inside)
        chosen = b.select(mode == _MIRROR, mirrored, chosen)
        addressed.append(b.select(is_clamp, clamped, chosen))
    return span(b, *addressed, weight)


def _once_round(b: Builder, texel: Value, period: Value) -> Value:
    """A texel at most one period outside, brought in."""
    up = b.select(b.compare("slt", texel, i32(0)), texel + period, texel)
    return b.select(b.compare("sge", up, period), up - period, up)
