"""createpolicy: cache eviction policies, opaque numbers that change no value."""

from __future__ import annotations

from gridstride.virtual.ir.builder import constant
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Instruction


def create_policy(cx: Lowering, ins: Instruction) -> None:
    """createpolicy.fractional, .range: one number stands for all; .cvt: the access property itself."""
    if "cvt" in ins.modifiers:
        (property_,) = cx.sources("b64")
        cx.set(ins.operands[0], property_)
    else:
        cx.set(ins.operands[0], constant("i64", 0))
