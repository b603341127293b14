"""Copies of matrix rows: each lane names the start of a row piece of 8 or 16 bytes, which must be aligned to its size.

`gs_rows_load_SPACE_SIZE_COUNT(warp, site, mask, address, image)` brings the pieces of the first COUNT lanes one after
the other, `gs_rows_store_…` puts them back, the lowest lane first. Lanes that are not in the mask are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gridstride.virtual.abi.execution_records import WARP
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Builder, IrModule, Value, constant, wide
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.runtime.memory.address_checks import _base, _inside


@dataclass(frozen=True, slots=True)
class RowCopy:
    """What one of the functions does: `way` is load or store, `space` shared or generic; the size in bytes."""

    way: str
    space: str
    size: int
    count: int

    @property
    def name(self) -> str:
        return f"gs_rows_{self.way}_{self.space}_{self.size}_{self.count}"


def copy(cx: Lowering, copied: RowCopy, *, site: int, address: Value, image: Value) -> None:
    """One call of the function."""
    module, name = cx.program.ir, copied.name
    if name not in module.defined:
        _define(module, copied)
    rows = cx.b.op("and", cx.active(), constant("i32", (1 << copied.count) - 1))
    cx.b.call("void", name, cx.warp, constant("i32", site), rows, address, image)


def _define(m: IrModule, copied: RowCopy) -> None:
    name, way, space, size, count = copied.name, copied.way, copied.space, copied.size, copied.count
    shared = replace(copied, space="shared")
    if space == "generic" and shared.name not in m.defined:
        _define(m, shared)
    type_ = wide("i32" if space == "shared" else "i64")
    head = ("warp* warp", "i32 site", "i32 mask", f"{type_} address", "ptr image")
    with m.function("internal void", name, *head) as (b, (warp, site, mask, address, image)):
        if space == "generic":
            _if_shared(b, shared.name, warp, site, mask, address, image)
        inside = _inside(b, warp, site, mask, address, size, space)
        is_full = b.compare("eq", mask, constant("i32", (1 << count) - 1))
        slow, fast = b.new_label("slow"), b.new_label("fast")
        b.branch(b.op("and", inside, is_full), fast, slow, likely=True)
        b.start(fast)
        long = b.op("add", b.resize(address, "i64"), b.splat(_base(b, warp, space)))
        _all(b, way, long, image, size, count)
        b.ret()
        b.start(slow)
        where = b.alloca(wide("i64"), align=64)
        b.store(b.resize(address, "i64"), where)
        number = constant("i32", int(space == "shared"))
        numbers = (constant("i32", size), constant("i32", 1), number)
        b.call("void", f"gs_{way}", warp, site, mask, where, image, *numbers)


def _if_shared(b: Builder, name: str, warp: Value, site: Value, mask: Value, address: Value, image: Value) -> None:
    """Generic addresses of the block's shared memory are handled as its offsets."""
    base, extent = b.get(warp, WARP, "shared"), b.get(warp, WARP, "shared_size")
    first = b.call("i32", "llvm.cttz.i32", mask, constant("i1", False))
    lane = b.op("and", first, constant("i32", LANES - 1))
    distance = b.op("sub", address, b.splat(base))
    with b.if_(b.compare("ult", b.extract(distance, lane), extent)):
        # What is past 32 bits must not come back in as a small offset.
        limited = b.intrinsic("umin", distance, constant(distance.type, 0xFFFFFFF0))
        b.call("void", name, warp, site, mask, b.resize(limited, "i32"), image)
        b.ret()
    b.terminated = False


def _all(b: Builder, way: str, long: Value, image: Value, size: int, count: int) -> None:
    for lane in range(count):
        memory, pointer = b.pointer(b.extract(long, lane)), b.offset(image, size * lane)
        source, target = (memory, pointer) if way == "load" else (pointer, memory)
        b.store(b.load(f"<{size // 4} x i32>", source, align=size), target, align=size)
