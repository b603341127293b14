"""What a barrier instruction says: its number, how many threads come, and what they vote."""

from __future__ import annotations

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Instruction, Operand


def barrier_operands(cx: Lowering, last: Instruction) -> tuple[Value, Value, Value]:
    """Barrier number, thread count (0: the whole block) and the i32 mask of votes of a bar/barrier instruction."""
    b = cx.b
    operands = list(last.operands)
    vote = constant("i32", 0)
    if "vote" in last.modifiers:
        predicate = cx.vector(operands.pop(), "pred")
        if "and" in last.modifiers:
            predicate = cx.negate(predicate)
        vote = b.op("and", b.bitcast(predicate, "i32"), cx.current_mask())
    which = _of_the_warp(cx, operands[0])
    count = _of_the_warp(cx, operands[1]) if len(operands) > 1 else constant("i32", 0)
    return which, count, vote


def _of_the_warp(cx: Lowering, operand: Operand) -> Value:
    """A number that the lanes at a barrier agree on, as `1 + threadIdx.x / 128` does; a fault where they do not."""
    if cx.uniform(operand):
        return cx.scalar(operand, "u32")
    b, zero = cx.b, constant("i32", 0)
    values, mask = cx.vector(operand, "u32"), cx.active()
    first = b.op("and", b.intrinsic("cttz", mask, constant("i1", False)), constant("i32", 31))
    value = b.extract(values, first)
    differing = b.op("and", b.bitcast(b.compare("ne", values, b.splat(value)), "i32"), mask)
    with b.if_(b.compare("ne", differing, zero)):
        kind, site = constant("i32", FAULT["invalid_instruction"]), constant("i32", cx.program.site(cx))
        b.call("void", "gs_fault", cx.warp, site, kind, differing, constant("i64", 0), zero)
    return value
