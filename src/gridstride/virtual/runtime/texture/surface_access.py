"""Surface accesses of a warp: bounds by trap, clamp or zero, then bytes of a texel read, written or combined."""

from __future__ import annotations

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.texture_objects import FORMATS, OBJECT, OBJECT_SLOTS, SURFACE_TAG
from gridstride.virtual.abi.texture_requests import CUBE, LAYER, LAYERED, ROW, SHAPE, X, Y, Z
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import i32, i64
from gridstride.virtual.runtime.memory.address_checks import _copy_elements
from gridstride.virtual.runtime.memory.printf_records import row
from gridstride.virtual.runtime.texture.cubes import FACES
from gridstride.virtual.runtime.texture.requests import object_fault
from gridstride.virtual.runtime.texture.sampling import level_of

TRAP, CLAMP, ZERO = range(3)
"""What an access outside does: stops the launch; goes to the nearest place inside; reads zeros and writes nothing."""

FAR = 1 << 20
"""Texels from the start that are outside of any surface, and whose bytes can still be counted."""

REDUCTIONS = ("add", "min", "max", "umin", "umax", "and", "or")
"""By the number that gs_surface_reduce is given: LLVM's names of atomic operations."""


def emit_surfaces(m: IrModule) -> None:
    """gs_surface_place, gs_surface_load, gs_surface_store, gs_surface_reduce, gs_surface_put."""
    _surface_pointer(m)
    _move(m)
    _reduce(m)
    _put(m)


def _surface_pointer(m: IrModule) -> None:
    """Where `size` bytes at a lane's coordinates (x in bytes) are; null where they are outside and stand for zeros."""
    head = ("warp* warp", "i32 site", "i32 lane", "i32 form", "i64 handle", "ptr request", "i32 size", "i32 mode")
    with m.function("ptr", "gs_surface_place", *head) as (b, args):
        warp, site, lane, form, handle, request, size, mode = args
        kind, slot = i32(FAULT["surface"]), b.resize(handle, "i32") & (OBJECT_SLOTS - 1)
        object_ = b.record(b.call("ptr", "gs_object", warp, site, lane, handle, i64(SURFACE_TAG), kind), OBJECT)
        who = (warp, site, lane, kind, slot)
        shape = _shape(b, object_)
        with b.if_((form & SHAPE) != shape):
            object_fault(b, "geometry", *who, handle, form)
        x, y, z, layer = (b.load("i32", b.offset(row(b, request, lane, 4), ROW * n)) for n in (X, Y, Z, LAYER))
        third = b.select((form & LAYERED) != 0, layer, z)
        where = (b.resize(y, "i64") << 32) | b.resize(x, "i64")
        with b.if_((x & (size - 1)) != 0):
            object_fault(b, "misaligned", *who, where, size)
        at = level_of(b, object_, b.constant("i32", 0))
        lasts = [at.width * object_.texel - size]
        lasts += [n - 1 for n in (at.height, _slices(b, object_))]
        held, inside = _held(b, [x, y, third], lasts, form)
        with b.if_(~inside):
            with b.if_(mode == TRAP):
                object_fault(b, "outside", *who, where, third)
            narrow = b.compare("slt", lasts[0], i32(0))  # the whole surface is narrower than the access
            with b.if_((mode == ZERO) | narrow):
                b.ret(NULL)
            b.terminated = False
        offset = b.resize(held[0], "i64")
        for index, stride in ((held[1], at.pitch), (held[2], at.slice)):
            offset += b.resize(index, "i64") * stride
        b.ret(b.pointer(at.start + offset))


def _held(b: Builder, coordinates: list[Value], lasts: list[Value], form: Value) -> tuple[list[Value], Value]:
    """The nearest coordinates inside, and an i1: they are the ones given."""
    inside, held = constant("i1", True), []
    for index, last in zip(coordinates, lasts, strict=True):
        held.append(b.intrinsic("smin", b.intrinsic("smax", index, i32(0)), last))
        inside &= index == held[-1]
    # The nearest layer of a negative one is the last: the hardware takes layers as unsigned.
    layered = (form & LAYERED) != 0
    held[2] = b.select(layered, b.intrinsic("umin", coordinates[2], lasts[2]), held[2])
    return held, inside


def _shape(b: Builder, object_: Record) -> Value:
    """The shape that an instruction must name: the faces of a cube are layers to surfaces."""
    shape = object_.shape
    cube = (shape & CUBE) != 0
    return b.select(cube, i32(2 | LAYERED), shape)


def _slices(b: Builder, object_: Record) -> Value:
    """How many layers, faces or rows in depth there are; at least one."""
    depth, layers, cube = object_.depth, object_.layers, object_.cubemap
    slices = b.intrinsic("umax", depth | layers, i32(1))
    return b.select(cube != 0, slices * FACES, slices)


def _move(m: IrModule) -> None:
    """suld and sust of `count` elements of `size` bytes; values lie element by element, 32 lanes each."""
    head = ("warp* warp", "i32 site", "i32 mask", "i32 form", "ptr handles", "ptr request", "ptr values", "i32 size",
            "i32 count", "i32 mode")  # fmt: skip
    for name, loads in (("gs_surface_load", True), ("gs_surface_store", False)):
        with m.function("void", name, *head) as (b, args):
            warp, site, mask, form, handles, request, values, size, count, mode = args
            total, zeros = size * count, b.alloca("[16 x i8]", align=16)
            b.store(constant("i128", 0), zeros)
            with b.lanes(mask) as lane:
                long, handle = b.resize(lane, "i64"), b.load("i64", row(b, handles, lane, 8))
                pointer = b.call("ptr", "gs_surface_place", warp, site, lane, form, handle, request, total, mode)
                outside = pointer == NULL
                if loads:
                    _copy_elements(b, b.select(outside, zeros, pointer), values, long, size, count, loads=True)
                else:
                    with b.if_(~outside):
                        _copy_elements(b, pointer, values, long, size, count, loads=False)
                        b.call("void", "gs_unset_range", warp, site, lane, pointer, total, i32(1))


def _reduce(m: IrModule) -> None:
    """sured.b: combines a value with a texel's bytes atomically; outside, by zero, nothing is done."""
    head = ("warp* warp", "i32 site", "i32 mask", "i32 form", "ptr handles", "ptr request", "ptr values", "i32 size",
            "i32 what", "i32 mode")  # fmt: skip
    with m.function("void", "gs_surface_reduce", *head) as (b, args):
        warp, site, mask, form, handles, request, values, size, what, mode = args
        with b.lanes(mask) as lane:
            handle = b.load("i64", row(b, handles, lane, 8))
            pointer = b.call("ptr", "gs_surface_place", warp, site, lane, form, handle, request, size, mode)
            value = b.load("i64", row(b, values, lane, 8))
            with b.if_(pointer != NULL):
                for number, op in enumerate(REDUCTIONS):
                    for bits in (32, 64):
                        chosen = what == number
                        with b.if_(chosen & (size == bits // 8)):
                            operand = b.resize(value, f"i{bits}")
                            b.define(f"i{bits}", f"atomicrmw {op} ptr {pointer.name}, {operand!r} seq_cst")


def _put(m: IrModule) -> None:
    """sust.p: `count` words for each lane, converted to the surface's own channels; x counts texels."""
    head = ("warp* warp", "i32 site", "i32 mask", "i32 form", "ptr handles", "ptr request", "ptr values", "i32 count",
            "i32 mode")  # fmt: skip
    with m.function("void", "gs_surface_put", *head) as (b, args), b.lanes(args[2]) as lane:
        warp, site, _, form, handles, request, values, count, mode = args
        handle, kind = b.load("i64", row(b, handles, lane, 8)), i32(FAULT["surface"])
        object_ = b.record(b.call("ptr", "gs_object", warp, site, lane, handle, i64(SURFACE_TAG), kind), OBJECT)
        with b.if_(object_.channels != count):
            slot = b.resize(handle, "i32") & (OBJECT_SLOTS - 1)
            object_fault(b, "form", warp, site, lane, kind, slot, handle, count)
        texel, across = object_.texel, row(b, request, lane, 4)
        near = b.intrinsic("smin", b.intrinsic("smax", b.load("i32", across), i32(-FAR)), i32(FAR))
        b.store(near * texel, across)
        pointer = b.call("ptr", "gs_surface_place", warp, site, lane, form, handle, request, texel, mode)
        with b.if_(pointer != NULL):
            for number, name in enumerate(FORMATS):
                with b.if_(object_.format == number):
                    for j in range(4):
                        with b.if_(count > j):
                            word = b.load("i32", b.offset(row(b, values, lane, 4), ROW * j))
                            value, size = _converted(b, word, name)
                            b.store(value, b.offset(pointer, size * j), align=size)
            b.call("void", "gs_unset_range", warp, site, lane, pointer, texel, i32(1))


def _converted(b: Builder, word: Value, format_: str) -> tuple[Value, int]:
    """A word as a channel of a format, and its bytes: integers are held at their limits, f32 is cut to f16 (H200)."""
    if format_ == "float16":
        return b.resize(_half(b, word), "i16"), 2
    bits = int(format_[-2:].lstrip("t"))
    if bits == 32:
        return word, 4
    if format_[0] == "u":
        held = b.intrinsic("umin", word, i32((1 << bits) - 1))
    else:
        held = b.intrinsic("smax", b.intrinsic("smin", word, i32((1 << bits - 1) - 1)), i32(-1 << bits - 1))
    return b.resize(held, f"i{bits}"), bits // 8


def _half(b: Builder, word: Value) -> Value:
    """f32 bits as f16 bits towards zero: what is too large is the largest number; a NaN keeps its first bits."""
    size = word & 0x7FFFFFFF
    normal = (size - 0x38000000) >> 13
    single = b.op("fmul", b.bitcast(size, "float"), constant("float", 2.0**24))
    small = b.define("i32", f"fptoui {b.intrinsic('minnum', single, constant('float', 1024.0))!r} to i32")
    result = b.select(size < 0x38800000, small, b.intrinsic("umin", normal, i32(0x7BFF)))
    result = b.select(size == 0x7F800000, i32(0x7C00), result)
    sign = (word >> 16) & 0x8000
    nan = size > 0x7F800000
    payload = (word >> 13) & 0x3FF
    payload = b.select(payload == 0, i32(0x200), payload)
    return b.select(nan, payload | 0x7C00, result) | sign
