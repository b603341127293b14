"""The runtime's counting of bulk copies: their bytes and sectors of global memory, which do not go through L1."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, wide
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.lowering.runtime.l1 import mark
from gridstride.virtual.lowering.runtime.lines import bump
from gridstride.virtual.lowering.runtime.output import row
from gridstride.virtual.lowering.runtime.tensor import columns_of
from gridstride.virtual.lowering.runtime.tensor_rows import rows, shape_of
from gridstride.virtual.machine.layout import LANES, RANKS, WARP, WORKER


def emit_bulk_counts(m: Module) -> None:
    """gs_count_bulk and gs_count_tensor; `out` is 1 where global memory is written."""
    _range(m)
    _bulk(m)
    _tensor(m)


def _range(m: Module) -> None:
    """Counts `bytes` at an address, and remembers their sectors as touched."""
    with m.function("void", "gs_count_range", "ptr warp", "i64 at", "i64 address", "i64 bytes", "i32 out") as (b, args):
        warp, at, address, bytes_, out = args
        with b.if_(b.compare("sle", bytes_, i64(0))):
            b.ret()
        first, last = (
            b.op("lshr", address, i64(5)),
            b.op("lshr", b.op("add", address, b.op("sub", bytes_, i64(1))), i64(5)),
        )
        sectors = b.op("add", b.op("sub", last, first), i64(1))
        bump(b, warp, at, {"sectors": sectors, "missed": sectors, "lanes": bytes_})
        worker, now = b.get(warp, WARP, "worker"), b.alloca("i64")
        written = b.compare("ne", out, i32(0))
        map_ = b.select(written, b.get(worker, WORKER, "write_map"), b.get(worker, WORKER, "read_map"))
        low, size = b.get(worker, WORKER, "map_low"), b.get(worker, WORKER, "map_size")
        b.store(first, now)
        with b.loop() as done:
            sector = b.load("i64", now)
            b.break_if(b.compare("ugt", sector, last), done)
            b.store(b.op("add", sector, i64(1)), now)
            bit = b.op("shl", i32(1), b.resize(b.op("and", sector, i64(3)), "i32"))
            mark(b, map_, low, size, b.op("lshr", sector, i64(2)), bit)


def _bulk(m: Module) -> None:
    head = ("ptr warp", "i64 at", "i32 mask", f"{wide('i64')} address", f"{wide('i64')} bytes", "i32 out")
    with m.function("void", "gs_count_bulk", *head) as (b, (warp, at, mask, address, bytes_, out)):
        slots = [b.alloca(wide("i64"), align=64) for _ in range(2)]
        for slot, value in zip(slots, (address, bytes_), strict=True):
            b.store(value, slot, align=64)
        with b.lanes(mask) as lane:
            bump(b, warp, at, {"requests": i32(1)})
            start, length = (b.load("i64", row(b, slot, lane, 8)) for slot in slots)
            b.call("void", "gs_count_range", warp, at, start, length, out)


def _tensor(m: Module) -> None:
    """The rows of a box, as far as they lie in the tensor."""
    head = ("ptr warp", "i64 at", "i32 mask", "ptr maps", "ptr corners", "i32 out")
    with m.function("void", "gs_count_tensor", *head) as (b, args):
        warp, at, mask, maps, corners, out = args
        with b.lanes(mask) as lane:
            map_ = b.pointer(b.load("i64", row(b, maps, lane, 8)))
            bump(b, warp, at, {"requests": i32(1)})
            _rows(b, warp, at, map_, [_corner(b, corners, lane, axis) for axis in range(RANKS)], out)


def _corner(b: Builder, corners: Value, lane: Value, axis: int) -> Value:
    return b.load("i64", b.offset(row(b, corners, lane, 8), 8 * LANES * axis))


def _rows(b: Builder, warp: Value, at: Value, map_: Value, corner: list[Value], out: Value) -> None:
    shape = shape_of(b, map_)
    _, low, high = columns_of(b, shape, corner[0], out)
    with (
        rows(b, map_, shape, corner) as each,
        b.if_(b.op("and", each.inside, b.compare("slt", low, high))),
    ):
        first = b.op("add", each.start, b.op("mul", low, shape.unit))
        b.call("void", "gs_count_range", warp, at, first, b.op("mul", b.op("sub", high, low), shape.unit), out)
