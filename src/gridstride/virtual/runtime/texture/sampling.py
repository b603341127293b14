"""Texture reads: the texels that a lane's coordinates ask for, read, blended and converted."""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.abi.texture_objects import OBJECT
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import i32, i64
from gridstride.virtual.runtime.texture.coordinates import SPAN, parts
from gridstride.virtual.runtime.texture.filtering import FLOAT16, FLOAT32, FOUR, QUAD, four
from gridstride.virtual.runtime.texture.texels import WORDS

HALF_BITS, FLOAT_BITS, LIGHT_BITS = 15, 28, 8
"""Bits of a texel that the filter keeps below the largest: of f16, f32 and sRGB."""
LIGHT_CARRY = 1 << 48
"""sRGB: a texel of 15/16 of a power of two and more counts as that power, for nearly all bytes."""


@dataclass(frozen=True, slots=True)
class MipLevel:
    """One mipmap level of a texture: sizes as i32, strides in bytes as i64."""

    start: Value
    width: Value
    height: Value
    depth: Value
    pitch: Value
    slice: Value


def level_of(b: Builder, object_: Record, level: Value) -> MipLevel:
    """The level with the given number; the first row pitch is the record's, the others' rows are packed."""
    long = b.resize(level, "i64")
    start = object_.level[long]
    width, height, depth = (
        b.intrinsic("umax", b.get(object_, OBJECT, name) >> level, i32(1)) for name in ("width", "height", "depth")
    )
    texel = b.resize(object_.texel, "i64")
    packed = b.resize(width, "i64") * texel
    pitch = b.select(level == 0, object_.pitch, packed)
    return MipLevel(start, width, height, depth, pitch, pitch * b.resize(height, "i64"))


def emit_sampling(m: IrModule) -> None:
    """gs_place, gs_slice, gs_finish, gs_sample, gs_gather_texels, gs_fetch_texel."""
    _texel_pointer(m)
    _slice(m)
    _finish(m)
    _sample(m)
    _gather(m)
    _fetch(m)


def _texel_pointer(m: IrModule) -> None:
    """Where a texel is; null for one of the border (a negative index)."""
    head = ("object* object", "i32 level", "i32 x", "i32 y", "i32 z")
    with m.function("ptr", "gs_place", *head) as (b, (object_, level, x, y, z)):
        with b.if_(b.compare("slt", x | y | z, i32(0))):
            b.ret(NULL)
        b.terminated = False
        at = level_of(b, object_, level)
        texel = b.resize(object_.texel, "i64")
        offset = b.resize(x, "i64") * texel
        for index, stride in ((y, at.pitch), (z, at.slice)):
            offset += b.resize(index, "i64") * stride
        b.ret(b.pointer(at.start + offset))


def _slice(m: IrModule) -> None:
    """Four taps in x and y of slice z of a level, of which the slice has `total` of the 256: their weighted sum.

    The weights are whole; each product is rounded half up on one side and the rest is the other's.
    """
    head = ("object* object", "i32 level", f"{SPAN} across", f"{SPAN} down", "i32 z", "i32 total")
    with m.function(FOUR, "gs_slice", *head) as (b, (object_, level, across, down, z, total)):
        xs, ys = parts(b, across), parts(b, down)
        right = _share(b, xs[2], total)
        left = total - right
        low_left = _share(b, 256 - ys[2], left)
        high_right = _share(b, ys[2], right)
        shares = [low_left, right - high_right, left - low_left, high_right]
        values, weights = b.alloca(f"[{QUAD} x {FOUR}]", align=32), b.alloca(f"[{QUAD} x i32]", align=16)
        for j, weight in enumerate(shares):
            b.store(weight, b.offset(weights, 4 * j))
            b.store(four(0.0), b.offset(values, 32 * j))
            with b.if_(weight != 0):
                pointer = b.call("ptr", "gs_place", object_, level, xs[j % 2], ys[j // 2], z)
                b.store(b.call(FOUR, "gs_texel_values", object_, pointer), b.offset(values, 32 * j))
        _sum(b, object_, values, weights)


def _share(b: Builder, of: Value, total: Value) -> Value:
    return (of * total + 128) >> 8


def _sum(b: Builder, object_: Record, values: Value, weights: Value) -> None:
    format_ = object_.format
    with b.if_(format_ == FLOAT32, likely=True):
        b.ret(b.call(FOUR, "gs_quad_aligned", values, weights, i64(FLOAT_BITS), i64(0)))
    b.terminated = False
    with b.if_(format_ == FLOAT16):
        b.ret(b.call(FOUR, "gs_quad_aligned", values, weights, i64(HALF_BITS), i64(0)))
    b.terminated = False
    plain = b.call(FOUR, "gs_quad_plain", values, weights)
    with b.if_(object_.srgb == 0):
        b.ret(plain)
    b.terminated = False
    light = b.call(FOUR, "gs_quad_aligned", values, weights, i64(LIGHT_BITS), i64(LIGHT_CARRY))
    b.ret(b.shuffle(light, [0, 1, 2, 7], plain))


def _finish(m: IrModule) -> None:
    """A sum of all weights as the register bits of the texture's result."""
    with m.function(WORDS, "gs_finish", "object* object", f"{FOUR} sum") as (b, (object_, sum_)):
        format_ = object_.format
        with b.if_(format_ == FLOAT32, likely=True):
            b.ret(b.call(WORDS, "gs_round_float", sum_))
        b.terminated = False
        with b.if_(format_ == FLOAT16):
            b.ret(b.call(WORDS, "gs_round_half", sum_))
        b.terminated = False
        integers = b.call(WORDS, "gs_round_integer", sum_, format_)
        with b.if_(object_.srgb == 0):
            b.ret(integers)
        b.terminated = False
        b.ret(b.shuffle(b.call(WORDS, "gs_round_half", sum_), [0, 1, 2, 7], integers))


def _spans(b: Builder, object_: Record, at: MipLevel, words: list[Value], linear: Value) -> list[Value]:
    """The spans in x, y and z; an axis that the texture does not have is one texel, whatever the coordinate."""
    spans = []
    for axis, (word, size) in enumerate(zip(words, (at.width, at.height, at.depth), strict=True)):
        spans.append(b.call(SPAN, "gs_axis", object_, i32(axis), word, size, linear))
    return spans


def _sample(m: IrModule) -> None:
    """One sample: coordinates as f32 bits (0 for an axis that is not there), the layer, the level in 1/256."""
    head = ("object* object", "i32 x", "i32 y", "i32 z", "i32 layer", "i32 lod")
    with m.function(WORDS, "gs_sample", *head) as (b, (object_, x, y, z, layer, lod)):
        smooth = object_.mip_filter
        fraction = b.select(smooth != 0, lod & 255, i32(0))
        rounded = (lod + b.select(smooth != 0, i32(0), i32(128))) >> 8
        linear = object_.filter
        deep = object_.depth != 0
        with b.if_((linear | fraction) == 0):
            at = level_of(b, object_, rounded)
            first = [parts(b, s)[0] for s in _spans(b, object_, at, [x, y, z], i32(0))]
            depth = b.select(deep, first[2], layer)
            pointer = b.call("ptr", "gs_place", object_, rounded, first[0], first[1], depth)
            b.ret(b.call(WORDS, "gs_texel_bits", object_, pointer))
        b.terminated = False
        sum_ = b.alloca(FOUR, align=32)
        b.store(four(-0.0), sum_)
        last = object_.levels - 1
        for level, total in ((rounded, 256 - fraction), (rounded + 1, fraction)):
            with b.if_(total != 0):
                held = b.intrinsic("umin", level, last)
                spans = _spans(b, object_, level_of(b, object_, held), [x, y, z], linear)
                zs = parts(b, spans[2])
                far = b.select(deep, _share(b, zs[2], total), i32(0))
                for slice_, part in ((b.select(deep, zs[0], layer), total - far), (zs[1], far)):
                    with b.if_(part != 0):
                        more = b.call(FOUR, "gs_slice", object_, held, spans[0], spans[1], slice_, part)
                        b.store(b.op("fadd", b.load(FOUR, sum_), more), sum_)
        b.ret(b.call(WORDS, "gs_finish", object_, b.load(FOUR, sum_)))


def _gather(m: IrModule) -> None:
    """The four texels that a linear filter would blend, one channel of each: (0, 1), (1, 1), (1, 0), (0, 0)."""
    head = ("object* object", "i32 x", "i32 y", "i32 layer", "i32 channel")
    with m.function(WORDS, "gs_gather_texels", *head) as (b, (object_, x, y, layer, channel)):
        at = level_of(b, object_, b.constant("i32", 0))
        across, down, _ = _spans(b, object_, at, [x, y, i32(0)], i32(1))
        xs, ys = parts(b, across), parts(b, down)
        result = constant(WORDS, 0)
        for j, (dx, dy) in enumerate(((0, 1), (1, 1), (1, 0), (0, 0))):
            pointer = b.call("ptr", "gs_place", object_, i32(0), xs[dx], ys[dy], layer)
            bits = b.call(WORDS, "gs_texel_bits", object_, pointer)
            result = b.insert(result, b.extract(bits, channel), j)
        b.ret(result)


def _fetch(m: IrModule) -> None:
    """The texel of the first level at whole coordinates; zeros outside, whatever the address modes (H200)."""
    head = ("object* object", "i32 x", "i32 y", "i32 z", "i32 layer")
    with m.function(WORDS, "gs_fetch_texel", *head) as (b, (object_, x, y, z, layer)):
        inside = constant("i1", True)
        at = level_of(b, object_, b.constant("i32", 0))
        for index, size in ((x, at.width), (y, at.height), (z, at.depth)):
            inside &= index < size
        with b.if_(~inside):
            b.ret(constant(WORDS, 0))
        b.terminated = False
        pointer = b.call("ptr", "gs_place", object_, i32(0), x, y, z + layer)
        b.ret(b.call(WORDS, "gs_texel_bits", object_, pointer))
