"""suld.b, sust and sured.b through surface objects (bindless): bytes of texels, with x in bytes; sust.p converts."""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.texture_requests import GEOMETRIES, ROW
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory.textures import coordinates, handle, scratch
from gridstride.virtual.ptx.module import Instruction, Operand, TensorAddress
from gridstride.virtual.ptx.operands import items
from gridstride.virtual.ptx.types import TYPES
from gridstride.virtual.runtime.texture.surface_access import REDUCTIONS

_MODES = ("trap", "clamp", "zero")
_OPERATIONS = ("add", "min", "max", "and", "or")


def load(cx: Lowering, ins: Instruction) -> None:
    """suld.b."""
    target, at = ins.operands
    size, arguments = TYPES[ins.type].size, _arguments(cx, ins, at)
    values = scratch(cx).out
    words = constant("i32", size), constant("i32", ins.vector), _mode(ins)
    cx.b.call("void", "gs_surface_load", *arguments, values, *words)
    for j, item in enumerate(items(target)):
        pointer = cx.b.offset(values, size * LANES * j)
        cx.set(item, cx.b.load(wide(f"i{8 * size}"), pointer, align=size))


def store(cx: Lowering, ins: Instruction) -> None:
    """sust.b; sust.p is `put`."""
    if "p" in ins.modifiers:
        put(cx, ins)
        return
    at, source = ins.operands
    size, arguments = TYPES[ins.type].size, _arguments(cx, ins, at)
    values = scratch(cx).out
    for j, item in enumerate(items(source)):
        value = cx.b.resize(cx.vector(item, f"b{8 * size}"), f"i{8 * size}")
        cx.b.store(value, cx.b.offset(values, size * LANES * j), align=size)
    words = constant("i32", size), constant("i32", ins.vector), _mode(ins)
    cx.b.call("void", "gs_surface_store", *arguments, values, *words)


def put(cx: Lowering, ins: Instruction) -> None:
    """sust.p."""
    at, source = ins.operands
    arguments, values = _arguments(cx, ins, at), scratch(cx).out
    for j, item in enumerate(items(source)):
        cx.b.store(cx.vector(item, "b32"), cx.b.offset(values, ROW * j))
    cx.b.call("void", "gs_surface_put", *arguments, values, constant("i32", ins.vector), _mode(ins))


def reduce(cx: Lowering, ins: Instruction) -> None:
    """sured.b."""
    at, source = ins.operands
    if "p" in ins.modifiers:
        raise cx.unsupported(f"`{ins.name}`, a formatted reduction,")
    op, type_ = next(m for m in ins.modifiers if m in _OPERATIONS), TYPES[ins.type]
    sign = "u" if op in ("min", "max") and type_.kind == "unsigned" else ""
    arguments, values = _arguments(cx, ins, at), scratch(cx).out
    cx.b.store(cx.b.resize(cx.vector(source, f"b{type_.bits}"), "i64"), values)
    words = constant("i32", type_.size), constant("i32", REDUCTIONS.index(sign + op)), _mode(ins)
    cx.b.call("void", "gs_surface_reduce", *arguments, values, *words)


def _arguments(cx: Lowering, ins: Instruction, at: Operand) -> list[Value]:
    """warp, site, mask, form, handles and request of an access."""
    assert isinstance(at, TensorAddress)
    form, area = next(GEOMETRIES[m] for m in ins.modifiers if m in GEOMETRIES), scratch(cx)
    handle(cx, at, area.handles)
    coordinates(cx, at, area.request, form)
    numbers = (constant("i32", cx.program.site(cx)), cx.active(), constant("i32", form))
    return [cx.warp, *numbers, area.handles, area.request]


def _mode(ins: Instruction) -> Value:
    return constant("i32", next(_MODES.index(m) for m in ins.modifiers if m in _MODES))
