"""Texture requests of a warp: objects checked, each lane's sample taken; what is no texture is a fault."""

from __future__ import annotations

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.texture_objects import OBJECT, OBJECT_FAULTS, OBJECT_SLOTS, TEXTURE_TAG
from gridstride.virtual.abi.texture_requests import (
    CUBE,
    GATHER_SHIFT,
    GRADIENT,
    GRADIENTS,
    INTEGER,
    LAYER,
    LAYERED,
    LEVEL,
    LINEAR,
    LOD,
    ROW,
    SHAPE,
    X,
    Y,
    Z,
)
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import i32, i64
from gridstride.virtual.runtime.memory.printf_records import row
from gridstride.virtual.runtime.texture.coordinates import SPAN, parts
from gridstride.virtual.runtime.texture.cubes import FACES
from gridstride.virtual.runtime.texture.texels import WORDS


def emit_requests(m: IrModule) -> None:
    """gs_object, gs_object_fault, gs_level, gs_lod, gs_texture_lane, gs_texture, gs_object_query."""
    _object_fault(m)
    _object(m)
    _levels(m)
    _lane(m)
    _warp(m)
    _query(m)


def has(b: Builder, form: Value, flag: int) -> Value:
    """An i1: the form has the flag."""
    return (form & flag) != 0


def object_fault(b: Builder, why: str, *args: Value) -> None:
    """Stops the launch: warp, site, lane, kind of fault, the object's slot, two numbers for the message."""
    b.call("void", "gs_object_fault", *args, i32(OBJECT_FAULTS.index(why)))


def _object_fault(m: IrModule) -> None:
    head = ("warp* warp", "i32 site", "i32 lane", "i32 kind", "i32 slot", "i64 address", "i32 size", "i32 why")
    with m.function("void", "gs_object_fault", *head, cold=True) as (b, args):
        warp, site, lane, kind, slot, address, size, why = args
        space = (slot << 8) | why
        b.call("void", "gs_fault_in", warp, site, kind, 1 << lane, address, size, space)
        b.unreachable()


def _object(m: IrModule) -> None:
    """The record of a handle, which must be of an object of the kind that `tag` says; else a fault of `kind`."""
    head = ("warp* warp", "i32 site", "i32 lane", "i64 handle", "i64 tag", "i32 kind")
    with m.function("ptr", "gs_object", *head) as (b, (warp, site, lane, handle, tag, kind)):
        table = warp.launch.objects
        slot = handle & (OBJECT_SLOTS - 1)
        record = table[slot]
        live = (record.handle == handle) & (handle != 0)
        right = (handle >> 48) == tag
        with b.if_(live & right, likely=True):
            b.ret(record)
        b.terminated = False
        short = b.resize(slot, "i32")
        with b.if_(live):
            object_fault(b, "other_kind", warp, site, lane, kind, short, handle, i32(0))
        object_fault(b, "unknown", warp, site, lane, kind, i32(0), handle, i32(0))
        b.unreachable()


def _levels(m: IrModule) -> None:
    """A level given as f32 bits in 1/256; and a level with the texture's bias, held within its range."""
    with m.function("i32", "gs_level", "i32 word") as (b, (word,)):
        level = b.define("double", f"fpext float {b.bitcast(word, 'float').name} to double")
        level = b.select(b.compare("uno", level, level), constant("double", 0.0), level)
        level = b.intrinsic("minnum", b.intrinsic("maxnum", level, constant("double", -64.0)), constant("double", 64.0))
        scaled = b.op("fmul", level, constant("double", 256.0))
        b.ret(b.define("i32", f"fptosi {scaled!r} to i32"))
    with m.function("i32", "gs_lod", "object* object", "i32 level", "i1 given") as (b, (object_, level, is_explicit)):
        # Without a level or differences the hardware takes the first level, and no bias.
        bias = b.select(is_explicit, level + object_.bias, i32(0))
        low, high = object_.low, object_.high
        b.ret(b.intrinsic("smin", b.intrinsic("smax", bias, low), high))


def _word(b: Builder, request: Value, index: int, lane: Value) -> Value:
    return b.load("i32", b.offset(row(b, request, lane, 4), ROW * index))


def _lane(m: IrModule) -> None:
    """One lane's sample; its coordinates must fit the texture's shape."""
    head = ("warp* warp", "i32 site", "i32 lane", "i32 form", "i64 handle", "ptr request")
    with m.function(WORDS, "gs_texture_lane", *head) as (b, (warp, site, lane, form, handle, request)):
        kind, tag = i32(FAULT["texture"]), i64(TEXTURE_TAG)
        object_ = b.record(b.call("ptr", "gs_object", warp, site, lane, handle, tag, kind), OBJECT)
        _check_shape(b, object_, (warp, site, lane), form, handle, kind)
        x, y, z = (_word(b, request, index, lane) for index in (X, Y, Z))
        layers = b.intrinsic("umax", object_.layers, i32(1))
        layer = b.intrinsic("umin", _word(b, request, LAYER, lane), layers - 1)
        layer = b.select(has(b, form, LAYERED), layer, i32(0))
        with b.if_(has(b, form, INTEGER)):
            b.ret(b.call(WORDS, "gs_fetch_texel", object_, x, y, z, layer))
        b.terminated = False
        with b.if_(form >= (1 << GATHER_SHIFT)):
            channel = (form >> GATHER_SHIFT) - 1
            b.ret(b.call(WORDS, "gs_gather_texels", object_, x, y, layer, channel))
        b.terminated = False
        level = b.alloca("i32")
        b.store(b.call("i32", "gs_level", _word(b, request, LOD, lane)), level)
        with b.if_(has(b, form, GRADIENT)):
            steps = [_word(b, request, GRADIENTS + j, lane) for j in range(6)]
            b.store(b.call("i32", "gs_gradient_lod", object_, *steps), level)
        lod = b.call("i32", "gs_lod", object_, b.load("i32", level), has(b, form, LEVEL | GRADIENT))
        with b.if_(has(b, form, CUBE)):
            face, s, t = parts(b, b.call(SPAN, "gs_cube", x, y, z))
            index = layer * FACES + face
            b.ret(b.call(WORDS, "gs_sample", object_, s, t, i32(0), index, lod))
        b.terminated = False
        b.ret(b.call(WORDS, "gs_sample", object_, x, y, z, layer, lod))


def _check_shape(
    b: Builder, object_: Record, who: tuple[Record, Value, Value], form: Value, handle: Value, kind: Value
) -> None:  # fmt: skip
    """Dimensions, layers and cube must be the texture's; whole coordinates in one dimension are for linear memory."""
    shape = object_.shape
    is_linear = (form & (INTEGER | SHAPE)) == (INTEGER | 1)
    expected = (form & SHAPE) | b.select(is_linear, i32(LINEAR), i32(0))
    with b.if_(expected != shape):
        slot = b.resize(handle, "i32") & (OBJECT_SLOTS - 1)
        object_fault(b, "geometry", *who, kind, slot, handle, expected)


def _warp(m: IrModule) -> None:
    """tex and tld4: `handles` and `request` hold a column for each lane, `out` gets four words for each."""
    head = ("warp* warp", "i32 site", "i32 mask", "i32 form", "ptr handles", "ptr request", "ptr out")
    with m.function("void", "gs_texture", *head) as (b, args), b.lanes(args[2]) as lane:
        warp, site, _, form, handles, request, out = args
        handle = b.load("i64", row(b, handles, lane, 8))
        words = b.call(WORDS, "gs_texture_lane", warp, site, lane, form, handle, request)
        for j in range(4):
            b.store(b.extract(words, j), b.offset(row(b, out, lane, 4), ROW * j))


def _query(m: IrModule) -> None:
    """txq and suq: `what` is 0 for the width, 1 for the height, 2 for the depth, or the layers."""
    head = ("warp* warp", "i32 site", "i32 mask", "i64 tag", "i32 kind", "i32 what", "ptr handles", "ptr out")
    with m.function("void", "gs_object_query", *head) as (b, (warp, site, mask, tag, kind, what, handles, out)):
        surface = kind == FAULT["surface"]
        with b.lanes(mask) as lane:
            handle = b.load("i64", row(b, handles, lane, 8))
            object_ = b.record(b.call("ptr", "gs_object", warp, site, lane, handle, tag, kind), OBJECT)
            width, height, depth, layers, cube, linear = (
                b.get(object_, OBJECT, name) for name in ("width", "height", "depth", "layers", "cubemap", "linear")
            )
            # As an H200 answers: an array of one dimension is one texel high to a texture and not high to a surface, or
            # as high as it has layers; a cube's faces are depth to a surface.
            rows = (height | linear) == 0
            flat = b.select(surface, i32(0), i32(1))
            high = b.select(rows, b.intrinsic("umax", layers, flat), height)
            faces = b.resize(surface, "i32") & cube
            cubes = b.intrinsic("umax", layers, i32(1)) * FACES
            deep = depth | b.select(rows, i32(0), layers)
            deep = b.select(faces != 0, cubes, deep)
            result = b.select(what == 0, width, b.select(what == 1, high, deep))
            b.store(result, row(b, out, lane, 4))
