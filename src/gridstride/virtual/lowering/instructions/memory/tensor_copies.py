"""cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: boxes of tensors, or columns of pixels (im2col)."""

from __future__ import annotations

from gridstride.virtual.abi.tensor_map_layout import RANKS
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory import addressing
from gridstride.virtual.lowering.instructions.memory.copy_operands import columns, cta_masks, site
from gridstride.virtual.ptx.module import Address, Instruction, TensorAddress
from gridstride.virtual.ptx.operands import address, items
from gridstride.virtual.runtime.copies.tensor import COLUMNS
from gridstride.virtual.runtime.memory.reduce import TENSOR_OPERATIONS


def tensor_copy(cx: Lowering, ins: Instruction) -> None:
    """In with a barrier, or out in a bulk group, alone or combined with what is there."""
    operation = next((m for m in ins.modifiers if m in TENSOR_OPERATIONS), "")
    inwards = "mbarrier::complete_tx::bytes" in ins.modifiers
    where = ins.operands[int(inwards)]
    assert isinstance(where, TensorAddress)
    rank, operands = len(where.coordinates), list(ins.operands[3 if inwards else 2 :])
    offsets = [cx.vector(item, "b16") for item in items(operands.pop(0))] if "im2col" in ins.modifiers else []
    corner = [_word(cx, where, offsets, axis) for axis in range(RANKS)]
    values = [addressing.vector_address(cx, address(ins, int(not inwards)), "shared")]
    values.append(addressing.vector_address(cx, Address(where.base, where.offset), "generic"))
    values.append(addressing.vector_address(cx, address(ins, 2), "shared") if inwards else _zero())
    addresses, maps, barriers, corners, *_ = columns(cx, *values, *corner)
    number = site(cx, Access("shared", 1, 1))
    mode = COLUMNS if {"im2col", "im2col_no_offs"} & set(ins.modifiers) else 0
    kind = rank | mode | (TENSOR_OPERATIONS.index(operation) + 1 if operation else 0) << 8
    chosen = barriers if inwards else Value("null", "ptr")
    arguments = (cx.warp, number, cx.active(), constant("i32", kind), addresses, maps, chosen, corners)
    if "multicast::cluster" in ins.modifiers:
        cx.b.call("void", "gs_tensor_multicast", *arguments, cta_masks(cx, operands[0]))
    else:
        cx.b.call("void", "gs_tensor", *arguments)
    cx.program.observer.bulk(cx, "tensor", maps, corners, constant("i32", int(not inwards)))


def _zero() -> Value:
    return constant(wide("i32"), 0)


def _word(cx: Lowering, where: TensorAddress, offsets: list[Value], axis: int) -> Value:
    """A coordinate, with the offset that is added to it in the upper half."""
    b = cx.b
    if axis >= len(where.coordinates):
        return _zero()
    start = b.splat(cx.vector(where.coordinates[axis], "b32"))
    if not 1 <= axis <= len(offsets):
        return start
    half = constant(wide("i64"), 32)
    offset = b.op("shl", b.resize(b.splat(offsets[axis - 1]), "i64"), half)
    return b.op("or", b.resize(start, "i64"), offset)
