"""st.async and red.async: stores into another block's shared memory that an mbarrier there counts in bytes.

They take effect at once. In the observed build an st.async to shared memory is queued as bulk copies are, and lands
when somebody waits for its barrier: a kernel that does not wait reads what was there before.
"""

from __future__ import annotations

from gridstride.virtual.abi.mbarriers import BLOCK_ORDER, CLUSTER_ORDER
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis import memory_operands
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory import addressing, atomic_calls
from gridstride.virtual.lowering.instructions.memory.cluster_addresses import store_remote
from gridstride.virtual.lowering.instructions.memory.copy_operands import columns, site
from gridstride.virtual.ptx.module import Instruction, Sink
from gridstride.virtual.ptx.operands import address, items
from gridstride.virtual.ptx.types import TYPES


def store_async(cx: Lowering, ins: Instruction) -> None:
    """st.async: up to 16 bytes for each lane."""
    where, value = address(ins, 0), ins.operands[1]
    size = TYPES[ins.type].size
    space = memory_operands.space_of(ins)
    access = Access(space, size, ins.vector)
    number = cx.program.site(cx, access)
    if space == "shared" and cx.program.observer.observes:
        cx.program.observer.access(cx, number, access, where, "async")
        for j, item in enumerate(items(value)):
            _later(cx, ins, number, size * j, cx.vector(item, f"b{8 * size}"))
        return
    cx.program.observer.access(cx, number, access, where, "store")
    values = [cx.vector(i, f"b{8 * size}") for i in items(value)]
    addresses = addressing.vector_address(cx, where, space)
    if space == "shared":
        store_remote(cx, addresses, access, number, values)
    else:
        addressing._slow_store(cx, addresses, access, number, values)
    _complete(cx, ins, size * ins.vector)


def _later(cx: Lowering, ins: Instruction, number: int, offset: int, value: Value) -> None:
    """The observed build: one element of each lane is queued."""
    space, size = memory_operands.space_of(ins), TYPES[ins.type].size
    target, barrier = (addressing.vector_address(cx, address(ins, i), space) for i in (0, 2))
    target = cx.b.op("add", target, constant(target.type, offset))
    kind = constant("i32", addressing.number_of(ins, space))
    areas = columns(cx, target, value, barrier)
    cx.b.call("void", "gs_store_later", cx.warp, constant("i32", number), cx.active(), *areas,
              constant("i32", size), kind)  # fmt: skip


def reduce_async(cx: Lowering, ins: Instruction) -> None:
    """red.async: one operation for each lane, done as an atomic one."""
    op = next(m for m in ins.modifiers if m in atomic_calls.ALLOWED)
    space = "cluster" if memory_operands.remote(ins) else "global"
    parts = atomic_calls.Parts(op, ins.type, space)
    atomic_calls._write(cx, parts, ins.operands[0], (Sink(),), [(ins.operands[1],)])
    _complete(cx, ins, TYPES[ins.type].size)


def _complete(cx: Lowering, ins: Instruction, size: int) -> None:
    """Each lane's bytes are taken off what its barrier waits for."""
    space = memory_operands.space_of(ins)
    where = addressing.vector_address(cx, address(ins, 2), space)
    zero = constant(wide("i64"), 0)
    addresses, arrivals, bytes_, dropped, states = columns(cx, where, zero, _less(size), zero, zero)
    kind = constant("i32", addressing.number_of(ins, space))
    order = constant("i32", BLOCK_ORDER | CLUSTER_ORDER)
    cx.b.call("void", "gs_mbarrier_arrive", cx.warp, site(cx), cx.active(), addresses, kind, arrivals, bytes_, dropped,
              states, order)  # fmt: skip


def _less(size: int) -> Value:
    return constant(wide("i64"), -size)
