"""Arguments of runtime functions that work lane by lane: vectors as arrays in memory."""

from __future__ import annotations

from collections.abc import Sequence

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.function import Lowering


def column(cx: Lowering, values: Sequence[Value]) -> Value:
    """Vectors of 32 as one array in memory."""
    b, size = cx.b, int(values[0].type.rpartition("i")[2].rstrip(">")) // 8
    at = b.alloca(f"[{len(values) * LANES * size} x i8]", align=64)
    for j, value in enumerate(values):
        b.store(value, b.offset(at, j * LANES * size))
    return at


def site_of(cx: Lowering) -> Value:
    """A site for the current instruction, as an i32."""
    return constant("i32", cx.program.site(cx))
