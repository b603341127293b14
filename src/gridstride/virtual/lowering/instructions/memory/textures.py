"""tex, tld4 and txq through texture objects (bindless): one call of the runtime for a warp."""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.texture_objects import SURFACE_TAG, TEXTURE_TAG
from gridstride.virtual.abi.texture_requests import (
    CUBE,
    DIMENSIONS,
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
from gridstride.virtual.ptx.module import (
    Address,
    DestinationPair,
    Instruction,
    Register,
    TensorAddress,
)
from gridstride.virtual.ptx.operands import items

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


def handle(cx: Lowering, operand: Address | TensorAddress, into: Value) -> None:
    """Stores the object that each lane names; the old module-wide texture variables are refused."""
    if not isinstance(operand.base, Register) or (isinstance(operand, TensorAddress) and operand.sampler is not None):
        raise cx.unsupported("texture, sampler and surface references (.texref, .surfref): make objects of them")
    cx.b.store(cx.vector(operand.base, "b64"), into)


def texture(cx: Lowering, ins: Instruction) -> None:
    """tex and tld4 with f32 or s32 coordinates."""
    gather = ins.opcode == "tld4"
    geometry = next((m for m in ins.modifiers if m in GEOMETRIES), "")
    if not geometry or (gather and geometry != "2d"):
        raise cx.unsupported(f"`{ins.name}`, a read of several samples or a gather of another shape than .2d,")
    address = ins.operands[1]
    assert isinstance(address, TensorAddress)
    result, coordinate_type = ins.types
    area = scratch(cx)
    handle(cx, address, area.handles)
    form = GEOMETRIES[geometry] | INTEGER * (coordinate_type == "s32")
    if gather:
        form |= next(_CHANNELS.index(m) + 1 for m in ins.modifiers if m in _CHANNELS) << GATHER_SHIFT
    coordinates(cx, address, area.request, form)
    form |= _levels(cx, ins, area.request, form)
    site = constant("i32", cx.program.site(cx))
    words = constant("i32", form)
    cx.b.call("void", "gs_texture", cx.warp, site, cx.active(), words, area.handles, area.request, area.out)
    _results(cx, ins, area.out, result)


def coordinates(cx: Lowering, at: TensorAddress, request: Value, form: int) -> None:
    """The request's rows for x, y, z and the layer; the operand list may be padded."""
    axes = list(at.coordinates)
    _store(cx, request, LAYER, cx.vector(axes.pop(0), "b32") if form & LAYERED else _ZERO)
    used = 3 if form & CUBE else form & DIMENSIONS
    for axis in range(3):
        _store(cx, request, X + axis, cx.vector(axes[axis], "b32") if axis < used else _ZERO)


def _store(cx: Lowering, request: Value, index: int, value: Value) -> None:
    cx.b.store(value, cx.b.offset(request, ROW * index))


def _levels(cx: Lowering, ins: Instruction, request: Value, form: int) -> int:
    """The flags of an explicit level or of differences, which go to their rows; .base and nothing mean level 0."""
    has_level, has_gradient = ("level" in ins.modifiers), ("grad" in ins.modifiers)
    levels = ins.operands[2:]
    wrong = form & INTEGER if has_level else has_gradient and form & CUBE
    if wrong or len(levels) != has_level + 2 * has_gradient:
        raise cx.unsupported(
            f"`{ins.name}` with offsets, a depth to compare with, levels of whole coordinates or gradients of a cube,"
        )
    _store(cx, request, LOD, cx.vector(levels[0], "b32") if has_level else _ZERO)
    if not has_gradient:
        return LEVEL if has_level else 0
    for j, vector in enumerate(levels):
        for axis in range(3):
            value = cx.vector(items(vector)[axis], "b32") if axis < form & DIMENSIONS else _ZERO
            _store(cx, request, GRADIENTS + 3 * j + axis, value)
    return GRADIENT


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
    for item, word in zip(items(target), words, strict=True):
        cx.set(item, word)


def _half(cx: Lowering, word: Value) -> Value:
    """f32 bits as f16 bits, nearest even."""
    single = cx.b.bitcast(word, wide("float"))
    return cx.b.bitcast(cx.b.define(wide("half"), f"fptrunc {single!r} to {wide('half')}"), wide("i16"))


def query(cx: Lowering, ins: Instruction) -> None:
    """txq and suq: width, height and depth, which is all that objects answer on current GPUs."""
    what, address = next((m for m in ins.modifiers if m in QUERIES), ""), ins.operands[1]
    if not what or "level" in ins.modifiers:
        raise cx.unsupported(f"`{ins.name}` of an object, which answers for its width, height and depth,")
    assert isinstance(address, Address)
    area = scratch(cx)
    handle(cx, address, area.handles)
    tag, kind = (TEXTURE_TAG, "texture") if ins.opcode == "txq" else (SURFACE_TAG, "surface")
    site, which = constant("i32", cx.program.site(cx)), constant("i32", QUERIES.index(what))
    kinds = (constant("i64", tag), constant("i32", FAULT[kind]))
    cx.b.call("void", "gs_object_query", cx.warp, site, cx.active(), *kinds, which, area.handles, area.out)
    cx.set(ins.operands[0], cx.b.load(wide("i32"), area.out))
