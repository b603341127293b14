"""Cube maps: the face that a direction points at, and where on it."""

from __future__ import annotations

from gridstride.virtual.ir.builder import Builder, IrModule, Value, constant
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.texture.coordinates import FRACTION, SPAN, span

FACES = 6


def emit_cubes(m: IrModule) -> None:
    """gs_cube: face, and the f32 bits of both normalised coordinates, of a direction given as f32 bits.

    The largest of |z|, |y|, |x| decides, the first named where they are equal; infinities and NaN are less than 0, and
    lie in the middle of the face (H200).
    """
    with m.function(SPAN, "gs_cube", "i32 x", "i32 y", "i32 z") as (b, words):
        x, y, z = (b.bitcast(word, "float") for word in words)
        ax, ay, az = (_size(b, word) for word in words)
        is_z = b.compare("oge", az, ax) & b.compare("oge", az, ay)
        is_y = ~is_z & b.compare("oge", ay, ax)
        major = b.select(is_z, z, b.select(is_y, y, x))
        size = b.select(is_z, az, b.select(is_y, ay, ax))
        back = b.compare("olt", major, constant("float", 0.0)) & b.compare("ogt", size, constant("float", 0.0))
        minus_x, minus_y, minus_z = (b.define("float", f"fneg float {v.name}") for v in (x, y, z))
        # Programming guide, cubemap textures: s and t of each face.
        s = b.select(is_z, b.select(back, minus_x, x), b.select(is_y, x, b.select(back, z, minus_z)))
        t = b.select(is_y, b.select(back, minus_z, z), minus_y)
        pair = b.select(is_z, i32(4), b.select(is_y, i32(2), i32(0)))
        face = pair + b.resize(back, "i32")
        b.ret(span(b, face, _normalised(b, s, size), _normalised(b, t, size)))


def _size(b: Builder, word: Value) -> Value:
    """How much a component counts."""
    size = word & 0x7FFFFFFF
    number = b.bitcast(size, "float")
    return b.select(size < 0x7F800000, number, constant("float", -1.0))


def _normalised(b: Builder, part: Value, size: Value) -> Value:
    """(part / size + 1) / 2, cut to the bits that a normalised coordinate keeps."""
    ratio = b.define("double", f"fpext float {b.op('fdiv', part, size).name} to double")
    inside = b.compare("ole", b.intrinsic("fabs", ratio), constant("double", 1.0))
    ratio = b.select(inside, ratio, constant("double", 0.0))
    unit = constant("double", 2.0 ** (FRACTION - 1))
    fixed = b.op("fadd", b.intrinsic("floor", b.op("fmul", ratio, unit)), unit)
    coordinate = b.op("fmul", fixed, constant("double", 2.0**-FRACTION))
    return b.bitcast(b.define("float", f"fptrunc double {coordinate.name} to float"), "i32")
