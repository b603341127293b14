"""Texture requests of a warp: objects checked, each lane's sample taken; what is no texture is a fault."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.lowering.runtime.coordinates import SPAN, parts
from gridstride.virtual.lowering.runtime.cubes import FACES
from gridstride.virtual.lowering.runtime.output import row
from gridstride.virtual.lowering.runtime.sampling import (
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
from gridstride.virtual.lowering.runtime.texels import WORDS
from gridstride.virtual.machine.layout import FAULT, LAUNCH, OBJECT, OBJECT_FAULTS, OBJECT_SLOTS, TEXTURE_TAG, WARP


def emit_requests(m: Module) -> None:
    """gs_object, gs_object_fault, gs_level, gs_lod, gs_texture_lane, gs_texture, gs_object_query."""
    _object_fault(m)
    _object(m)
    _levels(m)
    _lane(m)
    _warp(m)
    _query(m)


def has(b: Builder, form: Value, flag: int) -> Value:
    """An i1: the form has the flag."""
    return b.compare("ne", b.op("and", form, i32(flag)), i32(0))


def object_fault(b: Builder, why: str, *args: Value) -> None:
    """Stops the launch: warp, site, lane, kind of fault, the object's slot, two numbers for the message."""
    b.call("void", "gs_object_fault", *args, i32(OBJECT_FAULTS.index(why)))


def _object_fault(m: Module) -> None:
    head = ("ptr warp", "i32 site", "i32 lane", "i32 kind", "i32 slot", "i64 address", "i32 size", "i32 why")
    with m.function("void", "gs_object_fault", *head, cold=True) as (b, args):
        warp, site, lane, kind, slot, address, size, why = args
        space = b.op("or", b.op("shl", slot, i32(8)), why)
        b.call("void", "gs_fault_in", warp, site, kind, b.op("shl", i32(1), lane), address, size, space)
        b.unreachable()


def _object(m: Module) -> None:
    """The record of a handle, which must be of an object of the kind that `tag` says; else a fault of `kind`."""
    head = ("ptr warp", "i32 site", "i32 lane", "i64 handle", "i64 tag", "i32 kind")
    with m.function("ptr", "gs_object", *head) as (b, (warp, site, lane, handle, tag, kind)):
        table = b.get(b.get(warp, WARP, "launch"), LAUNCH, "objects")
        slot = b.op("and", handle, i64(OBJECT_SLOTS - 1))
        record = b.offset(table, b.op("mul", slot, i64(OBJECT.size)))
        live = b.op("and", b.compare("eq", b.get(record, OBJECT, "handle"), handle), b.compare("ne", handle, i64(0)))
        right = b.compare("eq", b.op("lshr", handle, i64(48)), tag)
        with b.if_(b.op("and", live, right), likely=True):
            b.ret(record)
        b.terminated = False
        short = b.resize(slot, "i32")
        with b.if_(live):
            object_fault(b, "other_kind", warp, site, lane, kind, short, handle, i32(0))
        object_fault(b, "unknown", warp, site, lane, kind, i32(0), handle, i32(0))
        b.unreachable()


def _levels(m: Module) -> None:
    """A level given as f32 bits in 1/256; and a level with the texture's bias, held within its range."""
    with m.function("i32", "gs_level", "i32 word") as (b, (word,)):
        level = b.define("double", f"fpext float {b.bitcast(word, 'float').name} to double")
        level = b.select(b.compare("uno", level, level), constant("double", 0.0), level)
        level = b.intrinsic("minnum", b.intrinsic("maxnum", level, constant("double", -64.0)), constant("double", 64.0))
        scaled = b.op("fmul", level, constant("double", 256.0))
        b.ret(b.define("i32", f"fptosi {scaled!r} to i32"))
    with m.function("i32", "gs_lod", "ptr object", "i32 level", "i1 given") as (b, (object_, level, given)):
        # Without a level or differences the hardware takes the first level, and no bias.
        wanted = b.select(given, b.op("add", level, b.get(object_, OBJECT, "bias")), i32(0))
        low, high = b.get(object_, OBJECT, "low"), b.get(object_, OBJECT, "high")
        b.ret(b.intrinsic("smin", b.intrinsic("smax", wanted, low), high))


def _word(b: Builder, request: Value, index: int, lane: Value) -> Value:
    return b.load("i32", b.offset(row(b, request, lane, 4), ROW * index))


def _lane(m: Module) -> None:
    """One lane's sample; its coordinates must fit the texture's shape."""
    head = ("ptr warp", "i32 site", "i32 lane", "i32 form", "i64 handle", "ptr request")
    with m.function(WORDS, "gs_texture_lane", *head) as (b, (warp, site, lane, form, handle, request)):
        kind, tag = i32(FAULT["texture"]), i64(TEXTURE_TAG)
        object_ = b.call("ptr", "gs_object", warp, site, lane, handle, tag, kind)
        _check_shape(b, object_, warp, site, lane, form, handle, kind)
        x, y, z = (_word(b, request, index, lane) for index in (X, Y, Z))
        layers = b.intrinsic("umax", b.get(object_, OBJECT, "layers"), i32(1))
        layer = b.intrinsic("umin", _word(b, request, LAYER, lane), b.op("sub", layers, i32(1)))
        layer = b.select(has(b, form, LAYERED), layer, i32(0))
        with b.if_(has(b, form, INTEGER)):
            b.ret(b.call(WORDS, "gs_fetch_texel", object_, x, y, z, layer))
        b.terminated = False
        with b.if_(b.compare("uge", form, i32(1 << GATHER_SHIFT))):
            channel = b.op("sub", b.op("lshr", form, i32(GATHER_SHIFT)), i32(1))
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
            index = b.op("add", b.op("mul", layer, i32(FACES)), face)
            b.ret(b.call(WORDS, "gs_sample", object_, s, t, i32(0), index, lod))
        b.terminated = False
        b.ret(b.call(WORDS, "gs_sample", object_, x, y, z, layer, lod))


def _check_shape(
    b: Builder, object_: Value, warp: Value, site: Value, lane: Value, form: Value, handle: Value, kind: Value
) -> None:
    """Dimensions, layers and cube must be the texture's; whole coordinates in one dimension are for linear memory."""
    shape = b.get(object_, OBJECT, "shape")
    whole = b.compare("eq", b.op("and", form, i32(INTEGER | SHAPE)), i32(INTEGER | 1))
    wanted = b.op("or", b.op("and", form, i32(SHAPE)), b.select(whole, i32(LINEAR), i32(0)))
    with b.if_(b.compare("ne", wanted, shape)):
        slot = b.op("and", b.resize(handle, "i32"), i32(OBJECT_SLOTS - 1))
        object_fault(b, "geometry", warp, site, lane, kind, slot, handle, wanted)


def _warp(m: Module) -> None:
    """tex and tld4: `handles` and `request` hold a column for each lane, `out` gets four words for each."""
    head = ("ptr warp", "i32 site", "i32 mask", "i32 form", "ptr handles", "ptr request", "ptr out")
    with m.function("void", "gs_texture", *head) as (b, args), b.lanes(args[2]) as lane:
        warp, site, _, form, handles, request, out = args
        handle = b.load("i64", row(b, handles, lane, 8))
        words = b.call(WORDS, "gs_texture_lane", warp, site, lane, form, handle, request)
        for j in range(4):
            b.store(b.extract(words, j), b.offset(row(b, out, lane, 4), ROW * j))


def _query(m: Module) -> None:
    """txq and suq: `what` is 0 for the width, 1 for the height, 2 for the depth, or the layers."""
    head = ("ptr warp", "i32 site", "i32 mask", "i64 tag", "i32 kind", "i32 what", "ptr handles", "ptr out")
    with m.function("void", "gs_object_query", *head) as (b, (warp, site, mask, tag, kind, what, handles, out)):
        surface = b.compare("eq", kind, i32(FAULT["surface"]))
        with b.lanes(mask) as lane:
            handle = b.load("i64", row(b, handles, lane, 8))
            object_ = b.call("ptr", "gs_object", warp, site, lane, handle, tag, kind)
            width, height, depth, layers, cube, linear = (
                b.get(object_, OBJECT, name) for name in ("width", "height", "depth", "layers", "cubemap", "linear")
            )
            # As an H200 answers: an array of one dimension is one texel high to a texture and not high to a surface, or
            # as high as it has layers; a cube's faces are depth to a surface.
            rows = b.compare("eq", b.op("or", height, linear), i32(0))
            flat = b.select(surface, i32(0), i32(1))
            high = b.select(rows, b.intrinsic("umax", layers, flat), height)
            faces = b.op("and", b.resize(surface, "i32"), cube)
            cubes = b.op("mul", b.intrinsic("umax", layers, i32(1)), i32(FACES))
            deep = b.op("or", depth, b.select(rows, i32(0), layers))
            deep = b.select(b.compare("ne", faces, i32(0)), cubes, deep)
            found = b.select(b.compare("eq", what, i32(0)), width, b.select(b.compare("eq", what, i32(1)), high, deep))
            b.store(found, row(b, out, lane, 4))
