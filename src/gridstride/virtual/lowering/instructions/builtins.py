"""Functions of the CUDA runtime that have no body in PTX: printf, assert, malloc, free; and brkpt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridstride.virtual.lowering.calls import _read, _write
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.ir import Value, constant, wide
from gridstride.virtual.machine.layout import FAULT, LANES
from gridstride.virtual.ptx.module import Instruction

Builtin = Callable[[Lowering, list[Value], list[Value]], None]
"""Takes the areas of the call's arguments and results."""


def _column(cx: Lowering, values: Sequence[Value]) -> Value:
    """Vectors of 32 as one array in memory."""
    b, size = cx.b, int(values[0].type.rpartition("i")[2].rstrip(">")) // 8
    at = b.alloca(f"[{len(values) * LANES * size} x i8]", align=64)
    for j, value in enumerate(values):
        b.store(value, b.offset(at, j * LANES * size))
    return at


def _site(cx: Lowering) -> Value:
    return constant("i32", cx.program.site(cx))


def print_(cx: Lowering, arguments: list[Value], results: list[Value]) -> None:
    """vprintf(format, arguments): the number of arguments, -1 without a format."""
    formats, values = (_column(cx, [_read(cx, a, 0, 8)]) for a in arguments)
    counts = cx.b.alloca(wide("i32"), align=64)
    cx.b.store(constant(wide("i32"), 0), counts)
    cx.b.call("void", "gs_print", cx.warp, _site(cx), cx.active(), formats, values, counts)
    if results:
        _write(cx, results[0], 0, 4, cx.b.load(wide("i32"), counts))


def assert_(cx: Lowering, arguments: list[Value], results: list[Value]) -> None:
    """__assertfail(expression, file, line, function, character size): the lanes that get here failed."""
    expression, file, line, function = arguments[:4]
    texts = _column(cx, [_read(cx, a, 0, 8) for a in (expression, file, function)])
    lines = _column(cx, [_read(cx, line, 0, 4)])
    cx.b.call("void", "gs_assert", cx.warp, _site(cx), cx.active(), texts, lines)


def malloc(cx: Lowering, arguments: list[Value], results: list[Value]) -> None:
    """malloc(size): a block of the device heap, null where it has no room."""
    sizes, found = _column(cx, [_read(cx, arguments[0], 0, 8)]), cx.b.alloca(wide("i64"), align=64)
    cx.b.store(constant(wide("i64"), 0), found)
    cx.b.call("void", "gs_malloc", cx.warp, _site(cx), cx.active(), sizes, found)
    _write(cx, results[0], 0, 8, cx.b.load(wide("i64"), found))


def free(cx: Lowering, arguments: list[Value], results: list[Value]) -> None:
    """free(pointer): nothing for null, a finding for what is no live block."""
    pointers = _column(cx, [_read(cx, arguments[0], 0, 8)])
    cx.b.call("void", "gs_free", cx.warp, _site(cx), cx.active(), pointers)


def breakpoint_(cx: Lowering, ins: Instruction) -> None:
    """brkpt: with no debugger to stop for, it ends the launch."""
    lanes = cx.active()
    with cx.b.if_(cx.b.compare("ne", lanes, constant("i32", 0))):
        nothing = constant("i32", 0)
        cx.b.call("void", "gs_fault", cx.warp, _site(cx), constant("i32", FAULT["trap"]), lanes, _zero(), nothing)


def _zero() -> Value:
    return constant("i64", 0)


BUILTINS: dict[str, Builtin] = {"vprintf": print_, "__assertfail": assert_, "malloc": malloc, "free": free}

FAMILY = {"brkpt": breakpoint_}
