"""The runtime's counting of bulk copies: their bytes and sectors of global memory, which do not go through L1."""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.tensor_map_layout import RANKS, TENSOR
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value, wide
from gridstride.virtual.runtime.common import i32, i64
from gridstride.virtual.runtime.copies.tensor import columns_of
from gridstride.virtual.runtime.copies.tensor_rows import rows, shape_of
from gridstride.virtual.runtime.count.global_counters import bump
from gridstride.virtual.runtime.count.l1 import mark
from gridstride.virtual.runtime.memory.printf_records import row


def emit_bulk_counts(m: IrModule) -> None:
    """gs_count_bulk and gs_count_tensor; `out` is 1 where global memory is written."""
    _range(m)
    _bulk(m)
    _tensor(m)


def _range(m: IrModule) -> None:
    """Counts `bytes` at an address, and remembers their sectors as touched."""
    with m.function("void", "gs_count_range", "warp* warp", "i64 at", "i64 address", "i64 bytes", "i32 out") as (
        b,
        args,
    ):
        warp, at, address, bytes_, out = args
        with b.if_(b.compare("sle", bytes_, i64(0))):
            b.ret()
        first, last = (
            address >> 5,
            (address + (bytes_ - 1)) >> 5,
        )
        sectors = last - first + 1
        bump(b, warp, at, {"sectors": sectors, "missed": sectors, "lanes": bytes_})
        worker, now = warp.worker, b.alloca("i64")
        written = out != 0
        map_ = b.select(written, worker.write_map, worker.read_map)
        low, size = worker.map_low, worker.map_size
        b.store(first, now)
        with b.loop() as done:
            sector = b.load("i64", now)
            b.break_if(sector > last, done)
            b.store(sector + 1, now)
            bit = 1 << b.resize(sector & 3, "i32")
            mark(b, map_, low, size, sector >> 2, bit)


def _bulk(m: IrModule) -> None:
    head = ("warp* warp", "i64 at", "i32 mask", f"{wide('i64')} address", f"{wide('i64')} bytes", "i32 out")
    with m.function("void", "gs_count_bulk", *head) as (b, (warp, at, mask, address, bytes_, out)):
        slots = [b.alloca(wide("i64"), align=64) for _ in range(2)]
        for slot, value in zip(slots, (address, bytes_), strict=True):
            b.store(value, slot, align=64)
        with b.lanes(mask) as lane:
            bump(b, warp, at, {"requests": i32(1)})
            start, length = (b.load("i64", row(b, slot, lane, 8)) for slot in slots)
            b.call("void", "gs_count_range", warp, at, start, length, out)


def _tensor(m: IrModule) -> None:
    """The rows of a box, as far as they lie in the tensor."""
    head = ("warp* warp", "i64 at", "i32 mask", "ptr maps", "ptr corners", "i32 out")
    with m.function("void", "gs_count_tensor", *head) as (b, args):
        warp, at, mask, maps, corners, out = args
        with b.lanes(mask) as lane:
            map_ = b.record(b.pointer(b.load("i64", row(b, maps, lane, 8))), TENSOR)
            bump(b, warp, at, {"requests": i32(1)})
            _rows(b, warp, at, map_, [_corner(b, corners, lane, axis) for axis in range(RANKS)], out)


def _corner(b: Builder, corners: Value, lane: Value, axis: int) -> Value:
    return b.load("i64", b.offset(row(b, corners, lane, 8), 8 * LANES * axis))


def _rows(b: Builder, warp: Record, at: Value, map_: Record, corner: list[Value], out: Value) -> None:
    shape = shape_of(b, map_)
    _, low, high = columns_of(b, shape, corner[0], out)
    with (
        rows(b, map_, shape, corner) as line,
        b.if_(line.inside & b.compare("slt", low, high)),
    ):
        first = line.start + low * shape.unit
        b.call("void", "gs_count_range", warp, at, first, (high - low) * shape.unit, out)
