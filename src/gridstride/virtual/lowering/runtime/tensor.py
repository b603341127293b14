"""The runtime's tensor copies: a box of a tensor that a map describes, row by row, in chunks of 16 bytes."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant
from gridstride.virtual.lowering.runtime.cluster_memory import CLUSTER_SPACE
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.lowering.runtime.memory import GLOBAL, SHARED
from gridstride.virtual.lowering.runtime.output import row
from gridstride.virtual.lowering.runtime.queue import NULL, inverted, wake
from gridstride.virtual.machine.layout import (
    BULK_IN,
    BULK_OUT,
    COPY,
    FAULT,
    PLAIN,
    RANKS,
    TENSOR,
    TENSOR_MAGIC,
    WARP,
)

CHUNK = 16


def emit_tensor(m: Module) -> None:
    """gs_tensor and gs_tensor_move."""
    _chunk(m)
    _move(m)
    _tensor(m)


def _signed(b: Builder, value: Value) -> Value:
    return b.resize(value, "i64", signed=True)


def _box(b: Builder, map_: Value) -> list[Value]:
    return [b.resize(b.get(map_, TENSOR, "box", axis), "i64") for axis in range(RANKS)]


def _total(b: Builder, map_: Value) -> Value:
    total = b.resize(b.get(map_, TENSOR, "element"), "i64")
    for size in _box(b, map_):
        total = b.op("mul", total, size)
    return total


def _chunk(m: Module) -> None:
    """Sixteen bytes at a place in shared memory; elements outside `low` to `high` are filled, or not written."""
    head = ("ptr map", "ptr place", "i64 row", "i64 first", "i64 low", "i64 high", "i32 out")
    with m.function("void", "gs_tensor_chunk", *head) as (b, (map_, place, start, first, low, high, out)):
        size = b.get(map_, TENSOR, "element")
        step, at = b.resize(size, "i64"), b.alloca("i64")
        last = b.op("add", first, b.op("udiv", i64(CHUNK), step))
        inwards = b.compare("eq", out, i32(0))
        whole = b.op("and", b.compare("sge", first, low), b.compare("sle", last, high))
        with b.if_(whole, likely=True):
            data = b.pointer(b.op("add", start, b.op("mul", first, step)))
            to, source = b.select(inwards, place, data), b.select(inwards, data, place)
            b.store(b.load("i128", source, align=1), to, align=1)
            b.ret()
        b.store(first, at)
        with b.loop() as done:
            e = b.load("i64", at)
            b.break_if(b.compare("sge", e, last), done)
            b.store(b.op("add", e, i64(1)), at)
            here = b.offset(place, b.op("mul", b.op("sub", e, first), step))
            inside = b.op("and", b.compare("sge", e, low), b.compare("slt", e, high))
            with b.if_(inside):
                data = b.pointer(b.op("add", start, b.op("mul", e, step)))
                b.call("void", "gs_move", b.select(inwards, here, data), b.select(inwards, data, here), size, size)
            with b.if_(b.op("and", inwards, b.op("xor", inside, constant("i1", True)))):
                b.call("void", "gs_move", here, b.field(map_, TENSOR, "fill"), size, size)


def _move(m: Module) -> None:
    """A whole box between the tensor and shared memory, where the map's swizzle places its chunks."""
    head = ("ptr warp", "i32 site", "i32 lane", "ptr map", "ptr corner", "ptr shared", "i32 out")
    with m.function("void", "gs_tensor_move", *head) as (b, (warp, site, lane, map_, corner, shared, out)):
        box, at = _box(b, map_), b.alloca("i64")
        corners = [_signed(b, b.load("i32", b.offset(corner, 4 * axis))) for axis in range(RANKS)]
        size = b.resize(b.get(map_, TENSOR, "element"), "i64")
        rows = i64(1)
        for n in box[1:]:
            rows = b.op("mul", rows, n)
        zero, length = i64(0), b.resize(b.get(map_, TENSOR, "size", 0), "i64")
        low = b.intrinsic("smax", corners[0], zero)
        high = b.intrinsic("smin", b.op("add", corners[0], box[0]), length)
        b.store(zero, at)
        with b.loop() as done:
            r = b.load("i64", at)
            b.break_if(b.compare("uge", r, rows), done)
            b.store(b.op("add", r, i64(1)), at)
            start, inside = _row_of(b, map_, box, corners, r)
            some = b.op("and", inside, b.compare("slt", low, high))
            with b.if_(some):
                touched = b.resize(b.op("mul", b.op("sub", high, low), size), "i32")
                first = b.op("add", start, b.op("mul", low, size))
                data = b.call("ptr", "gs_range", warp, site, lane, first, touched, i32(1), i32(GLOBAL))
                b.call("void", "gs_unset_range", warp, site, lane, data, touched, out)
                with b.if_(b.compare("eq", out, i32(0))):
                    told = (first, b.resize(touched, "i64"), i32(PLAIN), NULL)
                    b.call("void", "gs_global_range_load", warp, site, lane, *told)
            end = b.select(some, high, low)  # a row outside of the tensor has no elements
            _chunks(b, (warp, site, lane), map_, shared, out, r, start, (corners[0], box[0], size), low, end)


def _row_of(b: Builder, map_: Value, box: list[Value], corners: list[Value], r: Value) -> tuple[Value, Value]:
    """Where the r-th row of the box starts (its element 0 of the tensor), and whether it is inside the tensor."""
    start, inside, rest = b.get(map_, TENSOR, "address"), constant("i1", True), r
    for axis in range(1, RANKS):
        x = b.op("add", corners[axis], b.op("urem", rest, box[axis]))
        rest = b.op("udiv", rest, box[axis])
        within = b.compare("ult", x, b.resize(b.get(map_, TENSOR, "size", axis), "i64"))
        inside = b.op("and", inside, within)
        start = b.op("add", start, b.op("mul", x, b.get(map_, TENSOR, "stride", axis - 1)))
    return start, inside


def _chunks(
    b: Builder, who: tuple[Value, Value, Value], map_: Value, shared: Value, out: Value, r: Value, start: Value,
    inner: tuple[Value, Value, Value], low: Value, high: Value,
) -> None:  # fmt: skip
    (corner, count, size), warp = inner, who[0]
    observed = b.compare("ne", b.get(warp, WARP, "observed"), i32(0))
    watched = b.op("and", observed, b.compare("ne", out, i32(0)))
    bytes_, at = b.op("mul", count, size), b.alloca("i64")
    window = b.get(warp, WARP, "shared")
    base = b.op("sub", b.define("i64", f"ptrtoint {shared!r} to i64"), window)
    first = b.op("add", base, b.op("mul", r, bytes_))
    mask = b.resize(b.get(map_, TENSOR, "swizzle"), "i64")
    b.store(i64(0), at)
    with b.loop() as done:
        q = b.load("i64", at)
        b.break_if(b.compare("uge", q, bytes_), done)
        b.store(b.op("add", q, i64(CHUNK)), at)
        offset = b.op("add", first, q)
        turned = b.op("xor", offset, b.op("and", b.op("lshr", offset, i64(3)), mask))
        place = b.pointer(b.op("add", window, turned))
        element = b.op("add", corner, b.op("udiv", q, size))
        with b.if_(watched):
            _tell_stored(b, who, place, start, element, (low, high, size))
        b.call("void", "gs_tensor_chunk", map_, place, start, element, low, high, out)


def _tell_stored(
    b: Builder, who: tuple[Value, Value, Value], place: Value, start: Value, element: Value,
    limits: tuple[Value, Value, Value],
) -> None:  # fmt: skip
    """A chunk that leaves, with what it brings: two warps that store the same do not race (Triton lets them)."""
    low, high, size = limits
    first = b.intrinsic("smax", element, low)
    last = b.intrinsic("smin", b.op("add", element, b.op("udiv", i64(CHUNK), size)), high)
    with b.if_(b.compare("slt", first, last)):
        data = b.offset(place, b.op("mul", b.op("sub", first, element), size))
        address, bytes_ = b.op("add", start, b.op("mul", first, size)), b.op("mul", b.op("sub", last, first), size)
        b.call("void", "gs_global_range_store", *who, address, bytes_, i32(PLAIN), data)


def _tensor(m: Module) -> None:
    """cp.async.bulk.tensor: into shared memory, counted by a barrier in `barriers`; or, where that is null, out of it.

    `corners`: five vectors of 32 i64, of which the lower half counts.
    """
    head = ("ptr warp", "i32 site", "i32 mask", "i32 rank", "ptr places", "ptr maps", "ptr barriers", "ptr corners")
    with m.function("void", "gs_tensor", *head) as (b, (warp, site, mask, rank, places, maps, barriers, corners)):
        queue, own, object_ = b.get(warp, WARP, "copies"), b.alloca(f"[{RANKS} x i32]"), b.alloca("ptr")
        counted = b.compare("ne", barriers, NULL)
        out = b.resize(inverted(b, counted), "i32")
        kind = b.select(counted, i32(BULK_IN), i32(BULK_OUT))
        with b.lanes(mask) as lane:
            map_ = _checked_map(b, warp, site, lane, b.load("i64", row(b, maps, lane, 8)), rank)
            total = _total(b, map_)
            place = b.load("i64", row(b, places, lane, 8))
            short = b.resize(total, "i32")
            space = b.select(counted, i32(CLUSTER_SPACE), i32(SHARED))
            shared = b.call("ptr", "gs_range", warp, site, lane, place, short, i32(128), space)
            _own_corner(b, corners, lane, own)
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
                entry = b.call("ptr", "gs_copies_new", warp, queue, kind, site, one, i32(0))
                _keep(b, entry, lane, counted, shared, map_, barrier, short, own)
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
        x = b.load("i32", b.offset(row(b, corners, lane, 8), 8 * 32 * axis))
        b.store(x, b.offset(own, 4 * axis))


def _checked_map(b: Builder, warp: Value, site: Value, lane: Value, address: Value, rank: Value) -> Value:
    map_ = b.call("ptr", "gs_range", warp, site, lane, address, i32(TENSOR.size), i32(64), i32(GLOBAL))
    known = b.compare("eq", b.get(map_, TENSOR, "magic"), i32(TENSOR_MAGIC))
    fits = b.compare("eq", b.get(map_, TENSOR, "rank"), rank)
    with b.if_(b.op("xor", b.op("and", known, fits), constant("i1", True))):
        found = b.select(known, b.get(map_, TENSOR, "rank"), i32(0))
        lanes = b.op("shl", i32(1), lane)
        b.call("void", "gs_fault", warp, site, i32(FAULT["tensor_map"]), lanes, b.resize(rank, "i64"), found)
    return map_


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
        b.put(entry, COPY, "corner", b.load("i32", b.offset(corner, 4 * axis)), axis)
