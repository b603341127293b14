"""cp.async.bulk.tensor: boxes of tensors of one to five dimensions, in tiled mode."""

from __future__ import annotations

from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions import memory
from gridstride.virtual.lowering.instructions.asynchronous import address, columns, cta_masks, site
from gridstride.virtual.lowering.instructions.floats import check
from gridstride.virtual.lowering.ir import Value, constant, wide
from gridstride.virtual.machine.layout import RANKS
from gridstride.virtual.ptx.module import Address, Instruction, TensorAddress

_KNOWN = {"async", "bulk", "tensor", "tile", "shared::cta", "shared::cluster", "global", "bulk_group",
          "mbarrier::complete_tx::bytes", "L2::cache_hint", "multicast::cluster",
          *(f"{n}d" for n in range(1, RANKS + 1))}  # fmt: skip


def tensor_copy(cx: Lowering, ins: Instruction) -> None:
    """In with a barrier, or out in a bulk group."""
    check(cx, ins, _KNOWN)
    inwards = "mbarrier::complete_tx::bytes" in ins.modifiers
    where = ins.operands[int(inwards)] if len(ins.operands) > 1 else None
    ranks = [int(m[0]) for m in ins.modifiers if m in _KNOWN and m[1:] == "d" and m[0].isdigit()]
    if not isinstance(where, TensorAddress) or ranks != [len(where.coordinates)]:
        raise cx.unsupported(f"such a form of `{ins.name}`")
    zero = constant(wide("i32"), 0)
    corner = [cx.vector(c, "b32") for c in where.coordinates] + [zero] * (RANKS - ranks[0])
    values = [memory.vector_address(cx, address(cx, ins, int(not inwards)), "shared")]
    values.append(memory.vector_address(cx, Address(where.base, where.offset), "generic"))
    values.append(memory.vector_address(cx, address(cx, ins, 2), "shared") if inwards else zero)
    multicast = "multicast::cluster" in ins.modifiers
    if multicast and (not inwards or len(ins.operands) < 4):
        raise cx.unsupported(f"such a form of `{ins.name}`")
    places, maps, barriers, corners, *_ = columns(cx, *values, *corner)
    number = site(cx, Access("shared", 1, 1))
    rank = constant("i32", ranks[0])
    chosen = barriers if inwards else Value("null", "ptr")
    arguments = (cx.warp, number, cx.active(), rank, places, maps, chosen, corners)
    if multicast:
        cx.b.call("void", "gs_tensor_multicast", *arguments, cta_masks(cx, ins.operands[3]))
    else:
        cx.b.call("void", "gs_tensor", *arguments)
    cx.program.observer.bulk(cx, "tensor", maps, corners, constant("i32", int(not inwards)))
