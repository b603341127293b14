"""st.async and red.async: stores into another block's shared memory that an mbarrier there counts in bytes.

They take effect at once. In the observed build a read that does not wait for the barrier is unordered with them.
"""

from __future__ import annotations

from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions import atomics, memory
from gridstride.virtual.lowering.instructions.asynchronous import address, columns, site
from gridstride.virtual.lowering.instructions.clusters import store_remote
from gridstride.virtual.lowering.instructions.floats import check
from gridstride.virtual.lowering.ir import Value, constant, wide
from gridstride.virtual.ptx.module import Instruction, Sink, Vector
from gridstride.virtual.ptx.types import TYPES

_COUNTED = "mbarrier::complete_tx::bytes"
_REDUCED = {
    "inc": ("u32",), "dec": ("u32",), "min": ("s32", "u32"), "max": ("s32", "u32"), "add": ("u32", "s32", "u64"),
    "and": ("b32",), "or": ("b32",), "xor": ("b32",),
}  # fmt: skip
"""The types each operation of red.async has (PTX ISA, red.async)."""


def store_async(cx: Lowering, ins: Instruction) -> None:
    """st.async: up to 16 bytes for each lane."""
    check(cx, ins, {"async", "weak", "shared::cluster", _COUNTED, "v2", "v4"})
    _counted(cx, ins)
    where, value = address(cx, ins, 0), ins.operands[1]
    size = TYPES[ins.types[0]].size if len(ins.types) == 1 else 0
    items = value.items if isinstance(value, Vector) else (value,)
    if size not in (4, 8) or len(items) != ins.vector:
        raise cx.unsupported(f"such a form of `{ins.name}`")
    space = memory.space_of(ins)
    access = Access(space, size, ins.vector)
    number = cx.program.site(cx, access)
    cx.program.observer.access(cx, number, access, where, "store")
    values = [cx.vector(i, f"b{8 * size}") for i in items]
    addresses = memory.vector_address(cx, where, space)
    if space == "shared":
        store_remote(cx, addresses, access, number, values)
    else:
        memory._slow_store(cx, addresses, access, number, values)
    _complete(cx, ins, size * ins.vector)


def reduce_async(cx: Lowering, ins: Instruction) -> None:
    """red.async: one operation for each lane, done as an atomic one."""
    check(cx, ins, {"async", "relaxed", "cluster", "shared::cluster", _COUNTED, *_REDUCED})
    _counted(cx, ins)
    op = next((m for m in ins.modifiers if m in _REDUCED), "")
    if len(ins.types) != 1 or ins.types[0] not in _REDUCED.get(op, ()):
        raise cx.unsupported(f"`{ins.name}`")
    space = "cluster" if memory.remote(ins) else "global"
    parts = atomics.Parts(op, ins.types[0], space)
    atomics._write(cx, parts, ins.operands[0], (Sink(),), [(ins.operands[1],)])
    _complete(cx, ins, TYPES[ins.types[0]].size)


def _counted(cx: Lowering, ins: Instruction) -> None:
    if _COUNTED not in ins.modifiers or len(ins.operands) != 3:
        raise cx.unsupported(f"such a form of `{ins.name}`")


def _complete(cx: Lowering, ins: Instruction, size: int) -> None:
    """Each lane's bytes are taken off what its barrier waits for."""
    space = memory.space_of(ins)
    where = memory.vector_address(cx, address(cx, ins, 2), space)
    zero = constant(wide("i64"), 0)
    places, arrivals, bytes_, dropped, states = columns(cx, where, zero, _less(size), zero, zero)
    kind = constant("i32", memory.number_of(ins, space))
    cx.b.call("void", "gs_mbarrier_arrive", cx.warp, site(cx), cx.active(), places, kind, arrivals, bytes_, dropped,
              states)  # fmt: skip


def _less(size: int) -> Value:
    return constant(wide("i64"), -size)
