"""suld.b, sust and sured.b through surface objects (bindless): bytes of texels, with x in bytes; sust.p converts."""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.texture_requests import GEOMETRIES, LAYER, LAYERED, ROW, X
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory.textures import _ZERO, _store, handle, scratch
from gridstride.virtual.lowering.instructions.operand_checks import check
from gridstride.virtual.ptx.module import Instruction, Operand, TensorAddress, Vector
from gridstride.virtual.ptx.types import TYPES
from gridstride.virtual.runtime.texture.surface_access import REDUCTIONS

_GEOMETRIES = ("1d", "2d", "3d", "a1d", "a2d")
_MODES = ("trap", "clamp", "zero")
_ELEMENTS = ("b8", "b16", "b32", "b64")
_SIGNS = {"u32": "u", "u64": "u", "s32": "", "s64": "", "b32": "", "b64": ""}


def _vector(ins: Instruction, operand: Operand | None) -> Operand | None:
    """One element may stand without braces."""
    alone = ins.vector == 1 and operand is not None and not isinstance(operand, Vector)
    return Vector((operand,)) if alone and operand is not None else operand


def load(cx: Lowering, ins: Instruction) -> None:
    """suld.b."""
    target, at = (*ins.operands, None, None)[:2]
    target = _vector(ins, target)
    size, count, arguments = _access(cx, ins, at, target)
    values = _values(cx)
    words = constant("i32", size), constant("i32", count), _mode(ins)
    cx.b.call("void", "gs_surface_load", *arguments, values, *words)
    assert isinstance(target, Vector)
    for j, item in enumerate(target.items):
        pointer = cx.b.offset(values, size * LANES * j)
        cx.set(item, cx.b.load(wide(f"i{8 * size}"), pointer, align=size))


def store(cx: Lowering, ins: Instruction) -> None:
    """sust.b; sust.p is `put`."""
    if "p" in ins.modifiers:
        put(cx, ins)
        return
    at, source = (*ins.operands, None, None)[:2]
    source = _vector(ins, source)
    size, count, arguments = _access(cx, ins, at, source)
    values = _values(cx)
    assert isinstance(source, Vector)
    for j, item in enumerate(source.items):
        value = cx.b.resize(cx.vector(item, f"b{8 * size}"), f"i{8 * size}")
        cx.b.store(value, cx.b.offset(values, size * LANES * j), align=size)
    words = constant("i32", size), constant("i32", count), _mode(ins)
    cx.b.call("void", "gs_surface_store", *arguments, values, *words)


def put(cx: Lowering, ins: Instruction) -> None:
    """sust.p."""
    check(cx, ins, {"p", "v2", "v4", *_GEOMETRIES, *_MODES})
    at, source = (*ins.operands, None, None)[:2]
    if not isinstance(source, Vector) or len(source.items) != ins.vector or ins.types != ("b32",):
        raise cx.unsupported(f"such a form of `{ins.name}`")
    arguments, values = _place(cx, ins, at), _values(cx)
    for j, item in enumerate(source.items):
        cx.b.store(cx.vector(item, "b32"), cx.b.offset(values, ROW * j))
    cx.b.call("void", "gs_surface_put", *arguments, values, constant("i32", ins.vector), _mode(ins))


def reduce(cx: Lowering, ins: Instruction) -> None:
    """sured.b."""
    at, source = (*ins.operands, None, None)[:2]
    op = next((m for m in ins.modifiers if m in ("add", "min", "max", "and", "or")), "")
    type_ = ins.types[0] if len(ins.types) == 1 else ""
    known = {"b", op, *_GEOMETRIES[:3], *_MODES}
    check(cx, ins, known)
    if not op or type_ not in _SIGNS or (type_[0] == "b") != (op in ("and", "or")) or source is None:
        raise cx.unsupported(f"`{ins.name}`")
    name = _SIGNS[type_] + op if op in ("min", "max") else op
    arguments = _place(cx, ins, at)
    values = _values(cx)
    cx.b.store(cx.b.resize(cx.vector(source, f"b{TYPES[type_].bits}"), "i64"), values)
    words = constant("i32", TYPES[type_].size), constant("i32", REDUCTIONS.index(name)), _mode(ins)
    cx.b.call("void", "gs_surface_reduce", *arguments, values, *words)


def _access(cx: Lowering, ins: Instruction, at: Operand | None, vector: Operand | None) -> tuple[int, int, list[Value]]:
    """Bytes of an element, how many there are, and the runtime's first arguments."""
    check(cx, ins, {"b", "v2", "v4", *_GEOMETRIES, *_MODES})
    types = ins.types
    if "b" not in ins.modifiers or len(types) != 1 or types[0] not in _ELEMENTS:
        raise cx.unsupported(f"`{ins.name}` (formatted reads are not there)")
    size = TYPES[types[0]].size
    if not isinstance(vector, Vector) or len(vector.items) != ins.vector or size * ins.vector > 16:
        raise cx.unsupported(f"such a form of `{ins.name}`")
    return size, ins.vector, _place(cx, ins, at)


def _place(cx: Lowering, ins: Instruction, at: Operand | None) -> list[Value]:
    """warp, site, mask, form, handles and request of an access."""
    geometry = next((m for m in ins.modifiers if m in _GEOMETRIES), "")
    if not geometry or not isinstance(at, TensorAddress) or at.sampler is not None or at.offset:
        raise cx.unsupported(f"such a form of `{ins.name}`")
    form, area, items = GEOMETRIES[geometry], scratch(cx), list(at.coordinates)
    handle(cx, at.base, area.handles)
    layer = cx.vector(items.pop(0), "b32") if form & LAYERED else _ZERO
    if len(items) < form & 3:
        raise cx.unsupported(f"`{ins.name}` with {len(at.coordinates)} coordinates")
    _store(cx, area.request, LAYER, layer)
    for axis in range(3):
        _store(cx, area.request, X + axis, cx.vector(items[axis], "b32") if axis < form & 3 else _ZERO)
    numbers = (constant("i32", cx.program.site(cx)), cx.active(), constant("i32", form))
    return [cx.warp, *numbers, area.handles, area.request]


def _values(cx: Lowering) -> Value:
    """Room for what a warp moves: 16 bytes for each lane."""
    return scratch(cx).out


def _mode(ins: Instruction) -> Value:
    return constant("i32", next((_MODES.index(m) for m in ins.modifiers if m in _MODES), 0))
