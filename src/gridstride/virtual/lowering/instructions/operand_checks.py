"""Reading sources and writing results as .ftz and .sat say."""

from __future__ import annotations

from gridstride.virtual.ir.builder import Value
from gridstride.virtual.ir.float_common import flush, saturate
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Instruction


def operands(cx: Lowering, ins: Instruction, kind: str, count: int) -> list[Value]:
    """The sources as f32 or f64, flushed where the instruction says .ftz."""
    values = cx.sources(*[kind] * count)
    return [flush(cx.b, v) for v in values] if "ftz" in ins.modifiers else values


def finish(cx: Lowering, ins: Instruction, result: Value) -> None:
    """Writes a result, flushed and saturated where the instruction says so."""
    if "ftz" in ins.modifiers:
        result = flush(cx.b, result)
    if "sat" in ins.modifiers:
        result = saturate(cx.b, result)
    cx.set(ins.operands[0], result)
