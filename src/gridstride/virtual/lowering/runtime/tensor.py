"""The runtime's tensor copies: what a map describes of a tensor, row by row, in chunks of 16 bytes."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant
from gridstride.virtual.lowering.runtime.cluster_memory import CLUSTER_SPACE
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.lowering.runtime.memory import GLOBAL, SHARED
from gridstride.virtual.lowering.runtime.output import row
from gridstride.virtual.lowering.runtime.queue import NULL, inverted, wake
from gridstride.virtual.lowering.runtime.tensor_rows import CHUNK, Row, Shape, corner_of, pixel_box, rows, shape_of
from gridstride.virtual.machine.layout import (
    BULK_IN,
    BULK_OUT,
    COPY,
    FAULT,
    LANES,
    PLAIN,
    RANKS,
    ROUNDED_TYPES,
    STRONG,
    TENSOR,
    TENSOR_MAGIC,
    WARP,
)

NAN = 0x7FF77FF77FF77FF7
"""What stands for elements outside of a tensor whose map asks for NaN, in every type (seen on an H200)."""


def emit_tensor(m: Module) -> None:
    """gs_tensor and gs_tensor_move."""
    _element(m)
    _chunk(m)
    _move(m)
    _tensor(m)


# -- moving -----------------------------------------------------------------------------------------------------------
def _element(m: Module) -> None:
    """Some bytes inside of the tensor: into shared memory, where some types are rounded, or out, alone or combined.

    `out`: 0 for in, 1 for out, else one more than the number of a reduction.
    """
    head = ("ptr map", "ptr shared", "ptr data", "i32 bytes", "i32 out")
    with m.function("void", "gs_tensor_element", *head) as (b, (map_, shared, data, bytes_, out)):
        with b.if_(b.compare("ne", out, i32(0))):
            b.call("void", "gs_deliver", data, shared, bytes_, bytes_, b.op("sub", out, i32(1)))
            b.ret()
        b.call("void", "gs_move", shared, data, bytes_, bytes_)
        with b.if_(b.compare("uge", b.get(map_, TENSOR, "type"), i32(ROUNDED_TYPES))):
            at = b.alloca("i32")
            b.store(i32(0), at)
            with b.loop() as done:
                offset = b.load("i32", at)
                b.break_if(b.compare("uge", offset, bytes_), done)
                b.store(b.op("add", offset, i32(4)), at)
                place = b.offset(shared, b.resize(offset, "i64"))
                b.store(_rounded(b, b.load("i32", place)), place)


def _rounded(b: Builder, x: Value) -> Value:
    """.tf32: to nearest even; a NaN becomes the one NaN that an H200 has for it."""
    odd = b.op("and", b.op("lshr", x, i32(13)), i32(1))
    number = b.op("and", b.op("add", x, b.op("add", odd, i32(0xFFF))), i32(-0x2000))
    size = b.op("and", x, i32(0x7FFFFFFF))
    kept = b.select(b.compare("eq", size, i32(0x7F800000)), x, number)
    return b.select(b.compare("ugt", size, i32(0x7F800000)), i32(0x7FFFE000), kept)


def _chunk(m: Module) -> None:
    """Sixteen bytes at a place in shared memory; units outside `low` to `high` are filled, or not written."""
    head = ("ptr map", "ptr place", "i64 row", "i64 first", "i64 low", "i64 high", "i64 unit", "i32 out")
    with m.function("void", "gs_tensor_chunk", *head) as (b, (map_, place, start, first, low, high, step, out)):
        size, at, fill = b.resize(step, "i32"), b.alloca("i64"), b.alloca("[2 x i64]")
        last = b.op("add", first, b.op("udiv", i64(CHUNK), step))
        inwards = b.compare("eq", out, i32(0))
        whole = b.op("and", b.compare("sge", first, low), b.compare("sle", last, high))
        with b.if_(whole, likely=True):
            data = b.pointer(b.op("add", start, b.op("mul", first, step)))
            b.call("void", "gs_tensor_element", map_, place, data, i32(CHUNK), out)
            b.ret()
        outside = b.select(b.compare("ne", b.get(map_, TENSOR, "nan"), i32(0)), i64(NAN), i64(0))
        for half in range(2):
            b.store(outside, b.offset(fill, 8 * half))
        b.store(first, at)
        with b.loop() as done:
            e = b.load("i64", at)
            b.break_if(b.compare("sge", e, last), done)
            b.store(b.op("add", e, i64(1)), at)
            here = b.offset(place, b.op("mul", b.op("sub", e, first), step))
            inside = b.op("and", b.compare("sge", e, low), b.compare("slt", e, high))
            with b.if_(inside):
                data = b.pointer(b.op("add", start, b.op("mul", e, step)))
                b.call("void", "gs_tensor_element", map_, here, data, size, out)
            with b.if_(b.op("and", inwards, b.op("xor", inside, constant("i1", True)))):
                b.call("void", "gs_move", here, fill, size, size)


def _move(m: Module) -> None:
    """A whole copy between the tensor and shared memory, where the map's swizzle places its chunks."""
    head = ("ptr warp", "i32 site", "i32 lane", "ptr map", "ptr corner", "ptr shared", "i32 out")
    with m.function("void", "gs_tensor_move", *head) as (b, (warp, site, lane, map_, corner, shared, out)):
        shape = shape_of(b, map_)
        words = [b.load("i64", b.offset(corner, 8 * axis)) for axis in range(RANKS)]
        first, low, high = columns_of(b, shape, words[0], out)
        with rows(b, map_, shape, words) as each:
            some = b.op("and", each.inside, b.compare("slt", low, high))
            with b.if_(some):
                touched = b.op("mul", b.op("sub", high, low), shape.unit)
                begin, short = b.op("add", each.start, b.op("mul", low, shape.unit)), b.resize(touched, "i32")
                data = b.call("ptr", "gs_range", warp, site, lane, begin, short, i32(1), i32(GLOBAL))
                b.call("void", "gs_unset_range", warp, site, lane, data, short, b.intrinsic("umin", out, i32(1)))
                with b.if_(b.compare("eq", out, i32(0))):
                    b.call("void", "gs_global_range_load", warp, site, lane, begin, touched, i32(PLAIN), NULL)
            end = b.select(some, high, low)  # a row outside of the tensor has no elements
            _chunks(b, (warp, site, lane), map_, shared, out, each, shape, (first, low, end))


def columns_of(b: Builder, shape: Shape, word: Value, out: Value) -> tuple[Value, Value, Value]:
    """Of each row the first unit, and the first and last inside of the tensor.

    What leaves shared memory does so in chunks of 16 bytes, also where a row of the tensor ends within one.
    """
    start, _ = corner_of(b, word)
    first = b.op("mul", start, shape.per)
    chunk = b.op("udiv", i64(CHUNK), shape.unit)
    whole = b.op("mul", b.op("udiv", b.op("add", shape.length, b.op("sub", chunk, i64(1))), chunk), chunk)
    span = b.op("mul", shape.units, shape.step)
    length = b.select(b.compare("eq", out, i32(0)), shape.length, whole)
    return first, b.intrinsic("smax", first, i64(0)), b.intrinsic("smin", b.op("add", first, span), length)


def _chunks(
    b: Builder, who: tuple[Value, Value, Value], map_: Value, shared: Value, out: Value, each: Row, shape: Shape,
    inner: tuple[Value, Value, Value],
) -> None:  # fmt: skip
    (corner, low, high), warp = inner, who[0]
    observed = b.compare("ne", b.get(warp, WARP, "observed"), i32(0))
    watched = b.op("and", observed, b.compare("ne", out, i32(0)))
    at, window = b.alloca("i64"), b.get(warp, WARP, "shared")
    base = b.op("sub", b.define("i64", f"ptrtoint {shared!r} to i64"), window)
    first = b.op("add", base, b.op("mul", each.number, shape.pitch))
    mask = b.resize(b.get(map_, TENSOR, "swizzle"), "i64")
    b.store(i64(0), at)
    with b.loop() as done:
        q = b.load("i64", at)
        b.break_if(b.compare("uge", q, shape.row), done)
        b.store(b.op("add", q, i64(CHUNK)), at)
        offset = b.op("add", first, q)
        turned = b.op("xor", offset, b.op("and", b.op("lshr", offset, i64(3)), mask))
        place = b.pointer(b.op("add", window, turned))
        pixel, part = (b.op(op, b.op("udiv", q, shape.unit), shape.per) for op in ("udiv", "urem"))
        unit = b.op("add", corner, b.op("add", b.op("mul", b.op("mul", pixel, shape.step), shape.per), part))
        with b.if_(watched):
            _tell_stored(b, who, place, each.start, unit, (low, high, shape.unit), out)
        b.call("void", "gs_tensor_chunk", map_, place, each.start, unit, low, high, shape.unit, out)


def _tell_stored(
    b: Builder, who: tuple[Value, Value, Value], place: Value, start: Value, element: Value,
    limits: tuple[Value, Value, Value], out: Value,
) -> None:  # fmt: skip
    """A chunk that leaves, with what it brings: two warps that store the same do not race (Triton lets them)."""
    low, high, size = limits
    first = b.intrinsic("smax", element, low)
    last = b.intrinsic("smin", b.op("add", element, b.op("udiv", i64(CHUNK), size)), high)
    with b.if_(b.compare("slt", first, last)):
        plain = b.compare("eq", out, i32(1))
        data = b.select(plain, b.offset(place, b.op("mul", b.op("sub", first, element), size)), NULL)
        strength = b.select(plain, i32(PLAIN), i32(STRONG))
        address, bytes_ = b.op("add", start, b.op("mul", first, size)), b.op("mul", b.op("sub", last, first), size)
        b.call("void", "gs_global_range_store", *who, address, bytes_, strength, data)


# -- issuing ----------------------------------------------------------------------------------------------------------
def _tensor(m: Module) -> None:
    """cp.async.bulk.tensor: into shared memory, counted by a barrier in `barriers`; or, where that is null, out of it.

    `corners`: five vectors of 32 i64, coordinate and im2col offset. `kind`: the rank, with COLUMNS where the
    instruction is an im2col, and above it what `out` is to be (gs_tensor_element) but for the type.
    """
    head = ("ptr warp", "i32 site", "i32 mask", "i32 kind", "ptr places", "ptr maps", "ptr barriers", "ptr corners")
    with m.function("void", "gs_tensor", *head) as (b, (warp, site, mask, kind, places, maps, barriers, corners)):
        queue, own, object_ = b.get(warp, WARP, "copies"), b.alloca(f"[{RANKS} x i64]"), b.alloca("ptr")
        counted = b.compare("ne", barriers, NULL)
        queued = b.select(counted, i32(BULK_IN), i32(BULK_OUT))
        operation = b.op("lshr", kind, i32(8))
        with b.lanes(mask) as lane:
            map_ = _checked_map(b, warp, site, lane, b.load("i64", row(b, maps, lane, 8)), b.op("and", kind, i32(0xFF)))
            reduce = _reduction(b, warp, site, lane, map_, operation)
            out = b.select(counted, i32(0), b.op("add", reduce, i32(1)))
            shape = shape_of(b, map_)
            total, place = shape.total(b), b.load("i64", row(b, places, lane, 8))
            short = b.resize(total, "i32")
            space = b.select(counted, i32(CLUSTER_SPACE), i32(SHARED))
            extent = b.resize(shape.extent(b), "i32")
            shared = b.call("ptr", "gs_range", warp, site, lane, place, extent, i32(128), space)
            _own_corner(b, corners, lane, own)
            _check_corner(b, (warp, site, lane), map_, own, shape, out)
            b.store(NULL, object_)
            with b.if_(counted):
                found = b.call("ptr", "gs_mbarrier_place", warp, site, lane, barriers, space, i32(0))
                b.store(found, object_)
                b.call("void", "gs_wgmma_filled", warp, site, lane, shared, short)
            with b.if_(b.compare("ne", out, i32(0))):
                b.call("void", "gs_proxy_check", warp, site, lane, shared, short)
            barrier = b.load("ptr", object_)
            later = b.compare("ne", queue, NULL)
            with b.if_(later):
                one = b.op("shl", i32(1), lane)
                entry = b.call("ptr", "gs_copies_new", warp, queue, queued, site, one, i32(0))
                _keep(b, entry, lane, counted, shared, map_, barrier, short, own)
                b.put(entry, COPY, "reduce", reduce)
                with b.if_(counted):
                    wake(b, warp, barrier)
            with b.if_(inverted(b, later)):
                b.call("void", "gs_tensor_move", warp, site, lane, map_, own, shared, out)
                with b.if_(counted):
                    less = b.op("sub", i64(0), total)
                    b.call("i64", "gs_mbarrier_apply", warp, site, lane, barrier, i64(0), less, i64(0))


def _own_corner(b: Builder, corners: Value, lane: Value, own: Value) -> None:
    """A lane's coordinates, one behind the other."""
    for axis in range(RANKS):
        x = b.load("i64", b.offset(row(b, corners, lane, 8), 8 * LANES * axis))
        b.store(x, b.offset(own, 8 * axis))


def _checked_map(b: Builder, warp: Value, site: Value, lane: Value, address: Value, kind: Value) -> Value:
    """The map at an address, if it is one of as many dimensions as the instruction, and of its mode."""
    map_ = b.call("ptr", "gs_range", warp, site, lane, address, i32(TENSOR.size), i32(64), i32(GLOBAL))
    known = b.compare("eq", b.get(map_, TENSOR, "magic"), i32(TENSOR_MAGIC))
    mode = b.op("mul", b.resize(b.get(map_, TENSOR, "im2col"), "i32"), i32(COLUMNS))
    has = b.op("or", b.get(map_, TENSOR, "rank"), mode)
    fits = b.compare("eq", has, kind)
    with b.if_(b.op("xor", b.op("and", known, fits), constant("i1", True))):
        found = b.select(known, has, i32(0))
        lanes = b.op("shl", i32(1), lane)
        b.call("void", "gs_fault", warp, site, i32(FAULT["tensor_map"]), lanes, b.resize(kind, "i64"), found)
    return map_


COLUMNS = 16
"""In an instruction's kind beside the rank: im2col."""


def _check_corner(
    b: Builder, who: tuple[Value, Value, Value], map_: Value, own: Value, shape: Shape, out: Value
) -> None:
    """Where an H200 ends in an illegal instruction: a corner at no multiple of 16 bytes, or one that is outside."""
    words = [b.load("i64", b.offset(own, 8 * axis)) for axis in range(RANKS)]
    starts = [corner_of(b, word)[0] for word in words]
    leaves = b.compare("ne", out, i32(0))
    lowest = starts[0]
    for start in starts[1:]:
        lowest = b.intrinsic("smin", lowest, start)
    for axis in range(1, RANKS - 1):
        word = b.get(map_, TENSOR, "corner", axis - 1)
        low = b.op("ashr", b.resize(b.op("shl", word, i32(16)), "i64", signed=True), i64(16))
        high = b.resize(b.op("ashr", word, i32(16)), "i64", signed=True)
        lowest = b.intrinsic("smin", lowest, b.intrinsic("smin", low, b.op("sub", i64(0), high)))
    outside = b.op("and", leaves, b.compare("slt", lowest, i64(0)))
    outside = b.op("or", outside, _beside_box(b, map_, starts))
    size = b.op("mul", starts[0], shape.unit)
    warp, site, lane = who
    odd = b.compare("ne", b.op("and", size, i64(15)), i64(0))
    with b.if_(b.op("or", outside, odd)):
        what = b.select(odd, i32(1), i32(2))
        b.call("void", "gs_fault", warp, site, i32(FAULT["tensor_corner"]), b.op("shl", i32(1), lane), size, what)


def _beside_box(b: Builder, map_: Value, starts: list[Value]) -> Value:
    """Whether the corner of an im2col copy lies outside of the box of pixels."""
    beside: Value = constant("i1", False)
    for axis in range(1, RANKS - 1):
        low, high = pixel_box(b, map_, axis)
        inside = b.op("and", b.compare("sge", starts[axis], low), b.compare("slt", starts[axis], high))
        image = b.compare("ugt", b.get(map_, TENSOR, "rank"), i32(axis + 1))
        beside = b.op("or", beside, b.op("and", image, inverted(b, inside)))
    return b.op("and", beside, b.compare("ne", b.get(map_, TENSOR, "im2col"), constant("i8", 0)))


def _reduction(b: Builder, warp: Value, site: Value, lane: Value, map_: Value, operation: Value) -> Value:
    """The number of what a cp.reduce does to elements of the map's type, 0 for a cp; a finding where there is none."""
    found = b.call("i32", "gs_tensor_reduction", operation, b.get(map_, TENSOR, "type"))
    with b.if_(b.compare("slt", found, i32(0))):
        lanes, type_ = b.op("shl", i32(1), lane), b.resize(b.get(map_, TENSOR, "type"), "i64")
        b.call("void", "gs_fault", warp, site, i32(FAULT["tensor_reduction"]), lanes, type_, operation)
    return found


def _keep(
    b: Builder, entry: Value, lane: Value, counted: Value, shared: Value, map_: Value, barrier: Value, total: Value,
    corner: Value,
) -> None:  # fmt: skip
    """A queued copy has its shared side where other copies have theirs, and the map on the other side."""
    sides = {"target": b.select(counted, shared, map_), "source": b.select(counted, map_, shared), "barrier": barrier}
    for name, pointer in sides.items():
        b.store(b.define("i64", f"ptrtoint {pointer!r} to i64"), row(b, b.field(entry, COPY, name), lane, 8))
    b.store(total, row(b, b.field(entry, COPY, "bytes"), lane, 4))
    b.put(entry, COPY, "tensor", 1)
    for axis in range(RANKS):
        b.put(entry, COPY, "corner", b.load("i64", b.offset(corner, 8 * axis)), axis)
