"""tex, tld4 and txq through texture objects (bindless): one call of the runtime for a warp."""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.texture_objects import SURFACE_TAG, TEXTURE_TAG
from gridstride.virtual.abi.texture_requests import (
    CUBE,
    GATHER_SHIFT,
    GEOMETRIES,
    GRADIENT,
    GRADIENTS,
    INTEGER,
    LAYER,
    LAYERED,
    LEVEL,
    LOD,
    ROW,
    ROWS,
    X,
)
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.operand_checks import check
from gridstride.virtual.ptx.module import (
    Address,
    DestinationPair,
    Instruction,
    Operand,
    Register,
    TensorAddress,
    Vector,
)

QUERIES = ("width", "height", "depth")
_CHANNELS = ("r", "g", "b", "a")
_ZERO = constant(wide("i32"), 0)


@dataclass(frozen=True, slots=True)
class TextureScratch:
    """Stack slots that all texture and surface instructions of a function share."""

    handles: Value
    request: Value
    out: Value


def scratch(cx: Lowering) -> TextureScratch:
    """Handles (32 i64), a request's rows and four rows of results."""
    areas = cx.program.scratch_of(cx).areas
    for name, size in (("%handles", 8 * LANES), ("%request", ROW * ROWS), ("%texels", ROW * 4)):
        if name not in areas:
            areas[name] = cx.b.alloca(f"[{size} x i8]", align=64)
    return TextureScratch(areas["%handles"], areas["%request"], areas["%texels"])


def handle(cx: Lowering, base: Operand, into: Value) -> None:
    """Stores the object that each lane names; the old module-wide texture variables are refused."""
    if not isinstance(base, Register):
        raise cx.unsupported("texture and surface references (.texref, .surfref): make objects of them")
    cx.b.store(cx.vector(base, "b64"), into)


def texture(cx: Lowering, ins: Instruction) -> None:
    """tex and tld4 with f32 or s32 coordinates."""
    gather = ins.opcode == "tld4"
    geometry = next((m for m in ins.modifiers if m in GEOMETRIES), "")
    lod = next((m for m in ins.modifiers if m in ("level", "grad", "base")), "")
    channel = next((m for m in ins.modifiers if m in _CHANNELS), "") if gather else ""
    check(cx, ins, {geometry, lod, channel, "v4", "v2"} - {""})
    address = ins.operands[1] if len(ins.operands) > 1 else None
    if not isinstance(address, TensorAddress) or address.sampler is not None or address.offset or len(ins.types) != 2:
        raise cx.unsupported(f"such a form of `{ins.name}`")
    result, coordinate_type = ins.types
    integer = coordinate_type == "s32"
    if not geometry or coordinate_type not in ("f32", "s32") or (gather and (geometry != "2d" or integer)):
        raise cx.unsupported(f"`{ins.name}`")
    area = scratch(cx)
    handle(cx, address.base, area.handles)
    form = GEOMETRIES[geometry] | INTEGER * integer | (_CHANNELS.index(channel) + 1 << GATHER_SHIFT if gather else 0)
    _coordinates(cx, ins, address, area.request, form, coordinate_type)
    form |= _levels(cx, ins, lod, ins.operands[2:], area.request, form)
    site = constant("i32", cx.program.site(cx))
    words = constant("i32", form)
    cx.b.call("void", "gs_texture", cx.warp, site, cx.active(), words, area.handles, area.request, area.out)
    _results(cx, ins, area.out, result)


def _coordinates(cx: Lowering, ins: Instruction, at: TensorAddress, request: Value, form: int, type_: str) -> None:
    """The request's rows for x, y, z and the layer; the operand list may be padded."""
    items = list(at.coordinates)
    layer: Value = _ZERO
    if form & LAYERED:
        layer = cx.vector(items.pop(0), "b32")
    used = 3 if form & CUBE else form & 3
    if len(items) < used:
        raise cx.unsupported(f"`{ins.name}` with {len(at.coordinates)} coordinates")
    _store(cx, request, LAYER, layer)
    for axis in range(3):
        _store(cx, request, X + axis, cx.vector(items[axis], "b32") if axis < used else _ZERO)


def _store(cx: Lowering, request: Value, index: int, value: Value) -> None:
    cx.b.store(value, cx.b.offset(request, ROW * index))


def _levels(cx: Lowering, ins: Instruction, lod: str, more: tuple[Operand, ...], request: Value, form: int) -> int:
    """The flags of an explicit level or of differences, which go to their rows; .base and nothing mean level 0."""
    if lod == "level" and len(more) == 1 and not form & INTEGER:
        _store(cx, request, LOD, cx.vector(more[0], "b32"))
        return LEVEL
    _store(cx, request, LOD, _ZERO)
    if lod == "grad" and len(more) == 2 and not form & (INTEGER | CUBE):
        for j, vector in enumerate(more):
            items = vector.items if isinstance(vector, Vector) else (vector,)
            for axis in range(3):
                value = cx.vector(items[axis], "b32") if axis < min(form & 3, len(items)) else _ZERO
                _store(cx, request, GRADIENTS + 3 * j + axis, value)
        return GRADIENT
    if more or lod in ("level", "grad"):
        raise cx.unsupported(
            f"such a form of `{ins.name}` (offsets, depth comparison, and levels of whole coordinates are not there)"
        )
    return 0


def _results(cx: Lowering, ins: Instruction, out: Value, result: str) -> None:
    """Four words to the destination: 32 bits each, or halves of floats, alone or two in a register."""
    target = ins.operands[0]
    if isinstance(target, DestinationPair):  # `|p`: whether the texels are resident, which they always are
        cx.set(target.predicate, constant(wide("i1"), True))
        target = target.destination
    words = [cx.b.load(wide("i32"), cx.b.offset(out, ROW * j)) for j in range(4)]
    if result in ("f16", "f16x2"):
        halves = [_half(cx, word) for word in words]
        pairs = [cx.b.resize(h, "i32") for h in halves]
        high = constant(wide("i32"), 16)
        packed = [cx.b.op("or", pairs[j], cx.b.op("shl", pairs[j + 1], high)) for j in (0, 2)]
        words = packed if result == "f16x2" else halves
    elif result not in ("f32", "s32", "u32"):
        raise cx.unsupported(f"`{ins.name}`")
    if not isinstance(target, Vector) or len(target.items) != len(words):
        raise cx.unsupported(f"such a destination of `{ins.name}`")
    for item, word in zip(target.items, words, strict=True):
        cx.set(item, word)


def _half(cx: Lowering, word: Value) -> Value:
    """f32 bits as f16 bits, nearest even."""
    single = cx.b.bitcast(word, wide("float"))
    return cx.b.bitcast(cx.b.define(wide("half"), f"fptrunc {single!r} to {wide('half')}"), wide("i16"))


def query(cx: Lowering, ins: Instruction) -> None:
    """txq and suq: width, height and depth, which is all that objects answer on current GPUs."""
    what = next((m for m in ins.modifiers if m in QUERIES), "")
    check(cx, ins, {what} - {""})
    address = ins.operands[1] if len(ins.operands) == 2 else None
    if not what or ins.types != ("b32",) or not isinstance(address, Address) or address.offset:
        raise cx.unsupported(f"`{ins.name}` of an object (width, height and depth are there)")
    area = scratch(cx)
    handle(cx, address.base, area.handles)
    tag, kind = (TEXTURE_TAG, "texture") if ins.opcode == "txq" else (SURFACE_TAG, "surface")
    site, which = constant("i32", cx.program.site(cx)), constant("i32", QUERIES.index(what))
    kinds = (constant("i64", tag), constant("i32", FAULT[kind]))
    cx.b.call("void", "gs_object_query", cx.warp, site, cx.active(), *kinds, which, area.handles, area.out)
    cx.set(ins.operands[0], cx.b.load(wide("i32"), area.out))
