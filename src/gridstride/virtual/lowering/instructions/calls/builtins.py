"""Functions of the CUDA runtime that have no body in PTX: printf, assert, malloc, free; and brkpt."""

from __future__ import annotations

from collections.abc import Callable

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.calls import read_element, write_element
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.calls import device_runtime
from gridstride.virtual.lowering.instructions.lane_arrays import column, site_of
from gridstride.virtual.ptx.module import Instruction

Builtin = Callable[[Lowering, list[Value], list[Value]], None]
"""Takes the areas of the call's arguments and results."""


def print_(cx: Lowering, arguments: list[Value], results: list[Value]) -> None:
    """vprintf(format, arguments): the number of arguments, -1 without a format."""
    formats, values = (column(cx, [read_element(cx, a, 0, 8)]) for a in arguments)
    counts = cx.b.alloca(wide("i32"), align=64)
    cx.b.store(constant(wide("i32"), 0), counts)
    cx.b.call("void", "gs_print", cx.warp, site_of(cx), cx.active(), formats, values, counts)
    if results:
        write_element(cx, results[0], 0, 4, cx.b.load(wide("i32"), counts))


def assert_(cx: Lowering, arguments: list[Value], results: list[Value]) -> None:
    """__assertfail(expression, file, line, function, character size): the lanes that get here failed."""
    expression, file, line, function = arguments[:4]
    texts = column(cx, [read_element(cx, a, 0, 8) for a in (expression, file, function)])
    lines = column(cx, [read_element(cx, line, 0, 4)])
    cx.b.call("void", "gs_assert", cx.warp, site_of(cx), cx.active(), texts, lines)


def malloc(cx: Lowering, arguments: list[Value], results: list[Value]) -> None:
    """malloc(size): a block of the device heap, null where it has no room."""
    sizes, pointers = column(cx, [read_element(cx, arguments[0], 0, 8)]), cx.b.alloca(wide("i64"), align=64)
    cx.b.store(constant(wide("i64"), 0), pointers)
    cx.b.call("void", "gs_malloc", cx.warp, site_of(cx), cx.active(), sizes, pointers)
    write_element(cx, results[0], 0, 8, cx.b.load(wide("i64"), pointers))


def free(cx: Lowering, arguments: list[Value], results: list[Value]) -> None:
    """free(pointer): nothing for null, a finding for what is no live block."""
    pointers = column(cx, [read_element(cx, arguments[0], 0, 8)])
    cx.b.call("void", "gs_free", cx.warp, site_of(cx), cx.active(), pointers)


def breakpoint_(cx: Lowering, ins: Instruction) -> None:
    """brkpt: with no debugger to stop for, it ends the launch."""
    lanes = cx.active()
    with cx.b.if_(cx.b.compare("ne", lanes, constant("i32", 0))):
        nothing = constant("i32", 0)
        cx.b.call("void", "gs_fault", cx.warp, site_of(cx), constant("i32", FAULT["trap"]), lanes, _zero(), nothing)


def _zero() -> Value:
    return constant("i64", 0)


BUILTINS: dict[str, Builtin] = {
    "vprintf": print_, "__assertfail": assert_, "malloc": malloc, "free": free, **device_runtime.BUILTINS
}  # fmt: skip

SIZES = {"vprintf": (8, 8), "__assertfail": (8, 8, 4, 8, 8), "malloc": (8,), "free": (8,)}
"""Bytes of their parameters: a module that declares them otherwise means something else."""
