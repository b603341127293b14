"""tensormap.replace and tensormap.cp_fenceproxy: tensor maps that a kernel changes itself."""

from __future__ import annotations

from collections.abc import Sequence

from gridstride.virtual.abi.address_spaces import GLOBAL, SHARED
from gridstride.virtual.abi.tensor_map_layout import ELEMENTS, RANKS, TENSOR, TENSOR_MAGIC
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis import memory_operands
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory import addressing
from gridstride.virtual.lowering.instructions.memory.copy_operands import site
from gridstride.virtual.ptx.module import Address, Immediate, Instruction, Operand
from gridstride.virtual.ptx.operands import address, immediate

_BYTES = 128
WHOLE = {"global_address": "address", "rank": "rank"}
INDEXED = {"box_dim": "box", "global_dim": "size", "global_stride": "stride", "element_stride": "step"}
CHOSEN: dict[str, tuple[str, Sequence[int]]] = {
    "elemtype": ("element", range(len(ELEMENTS))),
    "swizzle_mode": ("swizzle", (0, 0x10, 0x30, 0x70)),
    "fill_mode": ("nan", (0, 1)),
    "interleave_layout": ("interleave", (0, 16, 32)),
}
"""Fields whose value is a constant: the map's own field and what each constant stands for there."""


def tensor_map(cx: Lowering, ins: Instruction) -> None:
    """Both forms."""
    if "cp_fenceproxy" in ins.modifiers:
        _copy(cx, ins)
        return
    field = next(m for m in ins.modifiers if m in {*WHOLE, *INDEXED, *CHOSEN})
    values = ins.operands[1:]
    if field in WHOLE:
        value = cx.vector(values[0], "b64" if field == "global_address" else "b32")
        excess = constant(value.type, int(field == "rank"))  # the hardware's field holds the rank less one
        _put(cx, ins, WHOLE[field], 0, cx.b.op("add", value, excess))
        _complete(cx, ins, field, values[0])
        return
    if field in INDEXED:
        width = "b64" if field == "global_stride" else "b32"
        value = cx.b.splat(cx.vector(values[1], width))
        if field == "element_stride":  # kept less one, so that a map written into zeros has strides of 1
            value = cx.b.op("and", cx.b.op("sub", value, constant(value.type, 1)), constant(value.type, 7))
        _put(cx, ins, INDEXED[field], immediate(values[0]), value)
    else:
        name, meanings = CHOSEN[field]
        _put(cx, ins, name, 0, constant(wide(TENSOR.type[name]), meanings[immediate(values[0])]))


def _complete(cx: Lowering, ins: Instruction, field: str, value: Operand) -> None:
    """What our maps have and the hardware's do not, for one that is written into zeros, as Triton's are."""
    one = constant(wide("i32"), 1)
    if field == "global_address":
        _put(cx, ins, "magic", 0, constant(wide("i32"), TENSOR_MAGIC))
    elif isinstance(value, Immediate):
        for axis in range(value.bits + 1, RANKS):  # dimensions that the map has no longer
            _put(cx, ins, "box", axis, one)
            _put(cx, ins, "size", axis, one)


def _put(cx: Lowering, ins: Instruction, name: str, index: int, value: Value) -> None:
    """Writes one field of the map that each lane names."""
    where, size = address(ins, 0), int(TENSOR.type[name][1:]) // 8
    access = Access(memory_operands.space_of(ins), size, 1)
    moved = Address(where.base, where.offset + TENSOR.offset[name] + size * index)
    number = cx.program.site(cx, access)
    narrow = cx.b.resize(value, TENSOR.type[name])
    addressing._slow_store(cx, addressing.vector_address(cx, moved, access.space), access, number, [narrow])


def _copy(cx: Lowering, ins: Instruction) -> None:
    """A map from shared to global memory, once for the warp."""
    b, lanes = cx.b, cx.active()
    to, origin = (addressing.vector_address(cx, address(ins, i), space) for i, space in enumerate(("global", "shared")))
    with b.if_(b.compare("ne", lanes, constant("i32", 0))):
        lane = b.call("i32", "llvm.cttz.i32", lanes, constant("i1", True))
        size, align = constant("i32", _BYTES), constant("i32", _BYTES)
        areas = []
        for addresses, space in ((to, GLOBAL), (origin, SHARED)):
            lane_address = b.resize(b.extract(addresses, lane), "i64")
            kind = constant("i32", space)
            areas.append(b.call("ptr", "gs_range", cx.warp, site(cx), lane, lane_address, size, align, kind))
        b.call("void", "gs_move", *areas, size, size)
