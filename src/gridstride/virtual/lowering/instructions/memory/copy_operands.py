"""Operands of asynchronous copies as the runtime takes them."""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Operand

MOST_COLUMNS = 8


def columns(cx: Lowering, *values: Value) -> list[Value]:
    """Vectors of 32 i64 in memory, in slots that all instructions of a function share."""
    b, areas = cx.b, cx.program.scratch_of(cx).areas
    assert len(values) <= MOST_COLUMNS
    if "%columns" not in areas:
        areas["%columns"] = b.alloca(f"[{MOST_COLUMNS * LANES * 8} x i8]", align=64)
    pointers = []
    for j, value in enumerate(values):
        pointer = b.offset(areas["%columns"], j * LANES * 8)
        b.store(b.resize(b.splat(value), "i64"), pointer)
        pointers.append(pointer)
    return pointers


def cta_masks(cx: Lowering, operand: Operand) -> Value:
    """The blocks of the cluster that a multicast names, 16 bits for each lane, in memory."""
    b, areas = cx.b, cx.program.scratch_of(cx).areas
    if "%masks" not in areas:
        areas["%masks"] = b.alloca(wide("i64"), align=64)
    mask = b.resize(cx.vector(operand, "b16"), "i64")
    b.store(mask, areas["%masks"])
    return areas["%masks"]


def site(cx: Lowering, access: Access | None = None) -> Value:
    """A new site as an i32."""
    return constant("i32", cx.program.site(cx, access))
