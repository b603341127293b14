"""atom and red: lane by lane, the lowest first or, as a Schedule says, the highest; atomic across all threads of the
process.

The work is done by one function for each space, operation and type, written into the kernel's module on first use.
Every operation on global memory is sequentially consistent, which covers all orders and scopes. Shared memory belongs
to one thread of the process, so there a read and a write do.

Where all lanes hit one address, integer operations are reduced over the warp first and take one access; floating-point
ones keep the order of the lanes, which fixes their rounding, but take one access too if nobody wants the old values.
"""

from __future__ import annotations

from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory.atomic_calls import ALLOWED, Parts, _write
from gridstride.virtual.ptx.module import Instruction, Operand, Sink
from gridstride.virtual.ptx.operands import items


def _parts(ins: Instruction) -> Parts:
    op = next(m for m in ins.modifiers if m in ALLOWED)
    shared = {"shared", "shared::cta"} & set(ins.modifiers)
    if "shared::cluster" in ins.modifiers:
        return Parts(op, ins.type, "cluster")
    if not shared and "global" not in ins.modifiers and (op, ins.type) == ("add", "f32"):
        return Parts(op, "f32", "generic")  # what becomes of subnormals is the memory's own business
    return Parts(op, ins.type, "shared" if shared else "global")


def atomic(cx: Lowering, ins: Instruction) -> None:
    """atom."""
    parts = _parts(ins)
    targets = items(ins.operands[0])
    compare = 2 if parts.op == "cas" else 1
    columns = zip(*(items(o) for o in ins.operands[2 : 2 + compare]), strict=True)
    _write(cx, parts, ins.operands[1], targets, list(columns))


def reduce(cx: Lowering, ins: Instruction) -> None:
    """red."""
    if "async" in ins.modifiers:
        from gridstride.virtual.lowering.instructions.memory.remote_stores import reduce_async

        reduce_async(cx, ins)
        return
    parts = _parts(ins)
    columns: list[tuple[Operand, ...]] = [(item,) for item in items(ins.operands[1])]
    _write(cx, parts, ins.operands[0], (Sink(),) * len(columns), columns)
