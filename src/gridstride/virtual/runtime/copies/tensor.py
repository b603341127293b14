"""The runtime's tensor copies: what a map describes of a tensor, row by row, in chunks of 16 bytes."""

from __future__ import annotations

from gridstride.virtual.abi.address_spaces import CLUSTER_SPACE, GLOBAL, SHARED
from gridstride.virtual.abi.copy_queue import BOX, BULK_IN, BULK_OUT, COPY
from gridstride.virtual.abi.execution_records import WARP
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import PLAIN, STRONG
from gridstride.virtual.abi.tensor_map_layout import RANKS, ROUNDED_TYPES, TENSOR, TENSOR_MAGIC
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import i32, i64
from gridstride.virtual.runtime.copies.async_copy_queue import wake
from gridstride.virtual.runtime.copies.tensor_rows import (
    CHUNK,
    CopyShape,
    TensorRow,
    corner_of,
    pixel_box,
    rows,
    shape_of,
)
from gridstride.virtual.runtime.memory.printf_records import row

NAN = 0x7FF77FF77FF77FF7
"""What stands for elements outside of a tensor whose map asks for NaN, in every type (seen on an H200)."""


def emit_tensor(m: IrModule) -> None:
    """gs_tensor and gs_tensor_move."""
    _element(m)
    _chunk(m)
    _move(m)
    _tensor(m)


# -- moving -----------------------------------------------------------------------------------------------------------
def _element(m: IrModule) -> None:
    """Some bytes inside of the tensor: into shared memory, where some types are rounded, or out, alone or combined.

    `out`: 0 for in, 1 for out, else one more than the number of a reduction.
    """
    head = ("tensor* map", "ptr shared", "ptr data", "i32 bytes", "i32 out")
    with m.function("void", "gs_tensor_element", *head) as (b, (map_, shared, data, bytes_, out)):
        with b.if_(out != 0):
            b.call("void", "gs_deliver", data, shared, bytes_, bytes_, out - 1)
            b.ret()
        b.call("void", "gs_move", shared, data, bytes_, bytes_)
        with b.if_(map_.element >= ROUNDED_TYPES):
            at = b.alloca("i32")
            b.store(i32(0), at)
            with b.loop() as done:
                offset = b.load("i32", at)
                b.break_if(offset >= bytes_, done)
                b.store(offset + 4, at)
                pointer = b.offset(shared, b.resize(offset, "i64"))
                b.store(_rounded(b, b.load("i32", pointer)), pointer)


def _rounded(b: Builder, x: Value) -> Value:
    """.tf32: to nearest even; a NaN becomes the one NaN that an H200 has for it."""
    odd = (x >> 13) & 1
    number = (x + (odd + 0xFFF)) & -0x2000
    size = x & 0x7FFFFFFF
    finite = b.select(size == 0x7F800000, x, number)
    return b.select(size > 0x7F800000, i32(0x7FFFE000), finite)


def _chunk(m: IrModule) -> None:
    """Sixteen bytes at a place in shared memory; units outside `low` to `high` are filled, or not written."""
    head = ("tensor* map", "ptr place", "i64 row", "i64 first", "i64 low", "i64 high", "i64 unit", "i32 out")
    with m.function("void", "gs_tensor_chunk", *head) as (b, (map_, pointer, start, first, low, high, step, out)):
        size, at, fill = b.resize(step, "i32"), b.alloca("i64"), b.alloca("[2 x i64]")
        last = first + i64(CHUNK) // step
        inwards = out == 0
        is_inside = b.compare("sge", first, low) & b.compare("sle", last, high)
        with b.if_(is_inside, likely=True):
            data = b.pointer(start + first * step)
            b.call("void", "gs_tensor_element", map_, pointer, data, i32(CHUNK), out)
            b.ret()
        outside = b.select(map_.nan != 0, i64(NAN), i64(0))
        for half in range(2):
            b.store(outside, b.offset(fill, 8 * half))
        b.store(first, at)
        with b.loop() as done:
            e = b.load("i64", at)
            b.break_if(b.compare("sge", e, last), done)
            b.store(e + 1, at)
            destination = b.offset(pointer, (e - first) * step)
            inside = b.compare("sge", e, low) & b.compare("slt", e, high)
            with b.if_(inside):
                data = b.pointer(start + e * step)
                b.call("void", "gs_tensor_element", map_, destination, data, size, out)
            with b.if_(inwards & ~inside):
                b.call("void", "gs_move", destination, fill, size, size)


def _move(m: IrModule) -> None:
    """A whole copy between the tensor and shared memory, where the map's swizzle places its chunks."""
    head = ("warp* warp", "i32 site", "i32 lane", "tensor* map", "ptr corner", "ptr shared", "i32 out")
    with m.function("void", "gs_tensor_move", *head) as (b, (warp, site, lane, map_, corner, shared, out)):
        shape = shape_of(b, map_)
        words = [b.load("i64", b.offset(corner, 8 * axis)) for axis in range(RANKS)]
        first, low, high = columns_of(b, shape, words[0], out)
        with rows(b, map_, shape, words) as line:
            some = line.inside & b.compare("slt", low, high)
            with b.if_(some):
                touched = (high - low) * shape.unit
                begin, short = line.start + low * shape.unit, b.resize(touched, "i32")
                data = b.call("ptr", "gs_range", warp, site, lane, begin, short, i32(1), i32(GLOBAL))
                b.call("void", "gs_unset_range", warp, site, lane, data, short, b.intrinsic("umin", out, i32(1)))
                with b.if_(out == 0):
                    b.call("void", "gs_global_range_load", warp, site, lane, begin, touched, i32(PLAIN), NULL)
            end = b.select(some, high, low)  # a row outside of the tensor has no elements
            _chunks(b, (warp, site, lane), (map_, shared, out), line, shape, (first, low, end))


def columns_of(b: Builder, shape: CopyShape, word: Value, out: Value) -> tuple[Value, Value, Value]:
    """Of each row the first unit, and the first and last inside of the tensor.

    What leaves shared memory does so in chunks of 16 bytes, also where a row of the tensor ends within one.
    """
    start, _ = corner_of(b, word)
    first = start * shape.per
    chunk = i64(CHUNK) // shape.unit
    rounded = ((shape.length + (chunk - 1)) // chunk) * chunk
    span = shape.units * shape.step
    length = b.select(out == 0, shape.length, rounded)
    return first, b.intrinsic("smax", first, i64(0)), b.intrinsic("smin", first + span, length)


def _chunks(
    b: Builder, who: tuple[Value, Value, Value], copied: tuple[Record, Value, Value], line: TensorRow, shape: CopyShape,
    inner: tuple[Value, Value, Value],
) -> None:  # fmt: skip
    """The chunks of a row; `copied`: the map, the start in shared memory, and which way."""
    map_, shared, out = copied
    (corner, low, high), warp = inner, b.record(who[0], WARP)
    observed = warp.observed != 0
    watched = observed & (out != 0)
    at, window = b.alloca("i64"), warp.shared
    base = b.define("i64", f"ptrtoint {shared!r} to i64") - window
    first = base + line.number * shape.pitch
    mask = b.resize(map_.swizzle, "i64")
    b.store(i64(0), at)
    with b.loop() as done:
        q = b.load("i64", at)
        b.break_if(q >= shape.row, done)
        b.store(q + CHUNK, at)
        offset = first + q
        turned = offset ^ ((offset >> 3) & mask)
        pointer = b.pointer(window + turned)
        pixel, part = (b.op(op, q // shape.unit, shape.per) for op in ("udiv", "urem"))
        unit = corner + (pixel * shape.step * shape.per + part)
        with b.if_(watched):
            _record_store(b, who, pointer, line.start, unit, (low, high, shape.unit), out)
        b.call("void", "gs_tensor_chunk", map_, pointer, line.start, unit, low, high, shape.unit, out)


def _record_store(
    b: Builder, who: tuple[Value, Value, Value], pointer: Value, start: Value, element: Value,
    limits: tuple[Value, Value, Value], out: Value,
) -> None:  # fmt: skip
    """A chunk that leaves, with what it brings: two warps that store the same do not race (Triton lets them)."""
    low, high, size = limits
    first = b.intrinsic("smax", element, low)
    last = b.intrinsic("smin", element + i64(CHUNK) // size, high)
    with b.if_(b.compare("slt", first, last)):
        plain = out == 1
        data = b.select(plain, b.offset(pointer, (first - element) * size), NULL)
        strength = b.select(plain, i32(PLAIN), i32(STRONG))
        address, bytes_ = start + first * size, (last - first) * size
        b.call("void", "gs_global_range_store", *who, address, bytes_, strength, data)


# -- issuing ----------------------------------------------------------------------------------------------------------
def _tensor(m: IrModule) -> None:
    """cp.async.bulk.tensor: into shared memory, counted by a barrier in `barriers`; or, where that is null, out of it.

    `corners`: five vectors of 32 i64, coordinate and im2col offset. `kind`: the rank, with COLUMNS where the
    instruction is an im2col, and above it what `out` is to be (gs_tensor_element) but for the type.
    """
    head = ("warp* warp", "i32 site", "i32 mask", "i32 kind", "ptr places", "ptr maps", "ptr barriers", "ptr corners")
    with m.function("void", "gs_tensor", *head) as (b, (warp, site, mask, kind, addresses, maps, barriers, corners)):
        queue, own, object_ = warp.copies, b.alloca(f"[{RANKS} x i64]"), b.alloca("ptr")
        counted = barriers != NULL
        queued = b.select(counted, i32(BULK_IN), i32(BULK_OUT))
        operation = kind >> 8
        with b.lanes(mask) as lane:
            map_ = _checked_map(b, warp, site, lane, b.load("i64", row(b, maps, lane, 8)), kind & 0xFF)
            reduce = _reduction(b, warp, site, lane, map_, operation)
            out = b.select(counted, i32(0), reduce + 1)
            shape = shape_of(b, map_)
            total, address = shape.total(b), b.load("i64", row(b, addresses, lane, 8))
            short = b.resize(total, "i32")
            space = b.select(counted, i32(CLUSTER_SPACE), i32(SHARED))
            extent = b.resize(shape.extent(b), "i32")
            shared = b.call("ptr", "gs_range", warp, site, lane, address, extent, i32(128), space)
            _own_corner(b, corners, lane, own)
            _check_corner(b, (warp, site, lane), map_, own, shape, out)
            b.store(NULL, object_)
            with b.if_(counted):
                pointer = b.call("ptr", "gs_mbarrier_place", warp, site, lane, barriers, space, i32(0))
                b.store(pointer, object_)
                b.call("void", "gs_wgmma_filled", warp, site, lane, shared, short)
            with b.if_(out != 0):
                b.call("void", "gs_proxy_check", warp, site, lane, shared, short)
            barrier = b.load("ptr", object_)
            later = queue != NULL
            with b.if_(later):
                lane_mask = 1 << lane
                entry = b.record(b.call("ptr", "gs_copies_new", warp, queue, queued, site, lane_mask, i32(0)), COPY)
                sides = b.select(counted, shared, map_), b.select(counted, map_, shared), barrier
                _keep(b, entry, lane, sides, short, own)
                entry.reduce = reduce
                with b.if_(counted):
                    wake(b, warp, barrier)
            with b.if_(~later):
                b.call("void", "gs_tensor_move", warp, site, lane, map_, own, shared, out)
                with b.if_(counted):
                    less = 0 - total
                    b.call("i64", "gs_mbarrier_apply", warp, site, lane, barrier, i64(0), less, i64(0))


def _own_corner(b: Builder, corners: Value, lane: Value, own: Value) -> None:
    """A lane's coordinates, one behind the other."""
    for axis in range(RANKS):
        x = b.load("i64", b.offset(row(b, corners, lane, 8), 8 * LANES * axis))
        b.store(x, b.offset(own, 8 * axis))


def _checked_map(b: Builder, warp: Record, site: Value, lane: Value, address: Value, kind: Value) -> Record:
    """The map at an address, if it is one of as many dimensions as the instruction, and of its mode."""
    tensor_map = b.call("ptr", "gs_range", warp, site, lane, address, i32(TENSOR.size), i32(64), i32(GLOBAL))
    map_ = b.record(tensor_map, TENSOR)
    has_magic = map_.magic == TENSOR_MAGIC
    mode = b.resize(map_.im2col, "i32") * COLUMNS
    has = map_.rank | mode
    fits = has == kind
    with b.if_(~(has_magic & fits)):
        tensor_map = b.select(has_magic, has, i32(0))
        lanes = 1 << lane
        b.call("void", "gs_fault", warp, site, i32(FAULT["tensor_map"]), lanes, b.resize(kind, "i64"), tensor_map)
    with b.if_(_beyond_limits(b, map_)):
        lanes, limits = 1 << lane, i32(BEYOND_LIMITS)
        b.call("void", "gs_fault", warp, site, i32(FAULT["tensor_map"]), lanes, b.resize(kind, "i64"), limits)
    return map_


BEYOND_LIMITS = 0xFF
"""What Python is told of a map that tensormap.replace, or a store, has given fields that no map can have."""
MOST_BOX = 1024
"""Elements of a box along an axis: 256, and 1024 pixels of im2col."""


def _beyond_limits(b: Builder, map_: Record) -> Value:
    """Whether the map's fields are none that a map has: what they say of sizes cannot be relied on then."""
    wrong: Value = constant("i1", False)
    for axis in range(RANKS):
        box = map_.box[axis] - 1
        wrong |= box >= MOST_BOX
    swizzle, interleave = map_.swizzle, map_.interleave
    for value, allowed in ((swizzle, (0, 0x10, 0x30, 0x70)), (interleave, (0, 16, 32))):
        valid: Value = constant("i1", False)
        for limit in allowed:
            valid |= value == limit
        wrong |= ~valid
    shape = shape_of(b, map_)
    return wrong | (shape.row > shape.pitch)


COLUMNS = 16
"""In an instruction's kind beside the rank: im2col."""


def _check_corner(
    b: Builder, who: tuple[Value, Value, Value], map_: Record, own: Value, shape: CopyShape, out: Value
) -> None:
    """Where an H200 ends in an illegal instruction: a corner at no multiple of 16 bytes, or one that is outside."""
    words = [b.load("i64", b.offset(own, 8 * axis)) for axis in range(RANKS)]
    starts = [corner_of(b, word)[0] for word in words]
    leaves = out != 0
    lowest = starts[0]
    for start in starts[1:]:
        lowest = b.intrinsic("smin", lowest, start)
    for axis in range(1, RANKS - 1):
        word = map_.corner[axis - 1]
        low = b.op("ashr", b.resize(word << 16, "i64", signed=True), i64(16))
        high = b.resize(b.op("ashr", word, i32(16)), "i64", signed=True)
        lowest = b.intrinsic("smin", lowest, b.intrinsic("smin", low, 0 - high))
    outside = leaves & b.compare("slt", lowest, i64(0))
    outside |= _beside_box(b, map_, starts)
    size = starts[0] * shape.unit
    warp, site, lane = who
    odd = (size & 15) != 0
    with b.if_(outside | odd):
        what = b.select(odd, i32(1), i32(2))
        b.call("void", "gs_fault", warp, site, i32(FAULT["tensor_corner"]), 1 << lane, size, what)


def _beside_box(b: Builder, map_: Record, starts: list[Value]) -> Value:
    """Whether the corner of an im2col copy lies outside of the box of pixels."""
    beside: Value = constant("i1", False)
    for axis in range(1, RANKS - 1):
        low, high = pixel_box(b, map_, axis)
        inside = b.compare("sge", starts[axis], low) & b.compare("slt", starts[axis], high)
        image = map_.rank > axis + 1
        beside |= image & ~inside
    return beside & (map_.im2col != 0)


def _reduction(b: Builder, warp: Record, site: Value, lane: Value, map_: Record, operation: Value) -> Value:
    """The number of what a cp.reduce does to elements of the map's type, 0 for a cp; a finding where there is none."""
    reduction = b.call("i32", "gs_tensor_reduction", operation, map_.element)
    with b.if_(b.compare("slt", reduction, i32(0))):
        lanes, type_ = 1 << lane, b.resize(map_.element, "i64")
        b.call("void", "gs_fault", warp, site, i32(FAULT["tensor_reduction"]), lanes, type_, operation)
    return reduction


def _keep(
    b: Builder, entry: Record, lane: Value, sides: tuple[Value, Value, Value], total: Value, corner: Value
) -> None:  # fmt: skip
    """A queued copy has its shared side where other copies have theirs, and the map on the other side.

    `sides`: target, source and barrier.
    """
    for name, pointer in zip(("target", "source", "barrier"), sides, strict=True):
        b.store(b.define("i64", f"ptrtoint {pointer!r} to i64"), row(b, entry.field(name), lane, 8))
    b.store(total, row(b, entry.field("bytes"), lane, 4))
    entry.tensor = BOX
    for axis in range(RANKS):
        entry.corner[axis] = b.load("i64", b.offset(corner, 8 * axis))
