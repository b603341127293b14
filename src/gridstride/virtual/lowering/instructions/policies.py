"""createpolicy: cache eviction policies, opaque numbers that change no value; and opcodes refused with their reason."""

from __future__ import annotations

from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.floats import Family
from gridstride.virtual.lowering.instructions.form import target
from gridstride.virtual.lowering.ir import constant
from gridstride.virtual.ptx.module import Instruction


def create_policy(cx: Lowering, ins: Instruction) -> None:
    """createpolicy.fractional, .range: one number stands for all; .cvt: the access property itself."""
    where = target(cx, ins)
    if "cvt" in ins.modifiers:
        (property_,) = cx.sources("b64")
        cx.set(where, property_)
    else:
        cx.set(where, constant("i64", 0))


def _absent(reason: str) -> Family:
    def lower(cx: Lowering, ins: Instruction) -> None:
        raise cx.unsupported(f"`{ins.opcode}`: {reason}")

    return lower


_STACK = "a stack that grows while a kernel runs; a local array of a fixed size does"

FAMILY: dict[str, Family] = {
    "createpolicy": create_policy,
    "multimem": _absent("it reaches the memory of several GPUs at once, and there is one here"),
    "alloca": _absent(_STACK), "stacksave": _absent(_STACK), "stackrestore": _absent(_STACK),
}  # fmt: skip
