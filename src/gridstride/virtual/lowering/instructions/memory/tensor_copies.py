"""cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: boxes of tensors, or columns of pixels (im2col)."""

from __future__ import annotations

from gridstride.virtual.abi.tensor_map_layout import RANKS
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory import addressing
from gridstride.virtual.lowering.instructions.memory.copy_operands import address, columns, cta_masks, site
from gridstride.virtual.lowering.instructions.operand_checks import check
from gridstride.virtual.ptx.module import Address, Instruction, Operand, TensorAddress, Vector
from gridstride.virtual.runtime.copies.tensor import COLUMNS
from gridstride.virtual.runtime.memory.reduce import TENSOR_OPERATIONS

_KNOWN = {"async", "bulk", "tensor", "tile", "im2col", "im2col_no_offs", "shared::cta", "shared::cluster", "global",
          "bulk_group", "mbarrier::complete_tx::bytes", "L2::cache_hint", "multicast::cluster",
          *(f"{n}d" for n in range(1, RANKS + 1))}  # fmt: skip


def tensor_copy(cx: Lowering, ins: Instruction) -> None:
    """In with a barrier, or out in a bulk group, alone or combined with what is there."""
    operation = next((m for m in ins.modifiers if m in TENSOR_OPERATIONS), "") if "reduce" in ins.modifiers else ""
    check(cx, ins, _KNOWN | ({"reduce", operation} if operation else set()))
    inwards = "mbarrier::complete_tx::bytes" in ins.modifiers
    where = ins.operands[int(inwards)] if len(ins.operands) > 1 else None
    ranks = [int(m[0]) for m in ins.modifiers if m in _KNOWN and m[1:] == "d" and m[0].isdigit()]
    if not isinstance(where, TensorAddress) or ranks != [len(where.coordinates)] or (operation and inwards):
        raise cx.unsupported(f"such a form of `{ins.name}`")
    rank, remaining = ranks[0], list(ins.operands[3 if inwards else 2 :])
    offsets = _offsets(cx, ins, rank, remaining) if "im2col" in ins.modifiers else []
    corner = [_word(cx, where, offsets, axis) for axis in range(RANKS)]
    values = [addressing.vector_address(cx, address(cx, ins, int(not inwards)), "shared")]
    values.append(addressing.vector_address(cx, Address(where.base, where.offset), "generic"))
    values.append(addressing.vector_address(cx, address(cx, ins, 2), "shared") if inwards else _zero())
    multicast = "multicast::cluster" in ins.modifiers
    if multicast and not (inwards and remaining):
        raise cx.unsupported(f"such a form of `{ins.name}`")
    addresses, maps, barriers, corners, *_ = columns(cx, *values, *corner)
    number = site(cx, Access("shared", 1, 1))
    mode = COLUMNS if {"im2col", "im2col_no_offs"} & set(ins.modifiers) else 0
    kind = rank | mode | (TENSOR_OPERATIONS.index(operation) + 1 if operation else 0) << 8
    chosen = barriers if inwards else Value("null", "ptr")
    arguments = (cx.warp, number, cx.active(), constant("i32", kind), addresses, maps, chosen, corners)
    if multicast:
        cx.b.call("void", "gs_tensor_multicast", *arguments, cta_masks(cx, remaining[0]))
    else:
        cx.b.call("void", "gs_tensor", *arguments)
    cx.program.observer.bulk(cx, "tensor", maps, corners, constant("i32", int(not inwards)))


def _zero() -> Value:
    return constant(wide("i32"), 0)


def _offsets(cx: Lowering, ins: Instruction, rank: int, remaining: list[Operand]) -> list[Value]:
    """The im2col offsets of the image's dimensions, taken off the operands that are left."""
    operand = remaining.pop(0) if remaining else None
    if not isinstance(operand, Vector) or len(operand.items) != rank - 2:
        raise cx.unsupported(f"such a form of `{ins.name}`")
    return [cx.vector(x, "b16") for x in operand.items]


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
