"""The form of an instruction: what is written otherwise than its family knows is refused, never guessed at."""

from __future__ import annotations

from collections.abc import Collection

from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.floats import check
from gridstride.virtual.ptx.module import Instruction, Operand, Register, Selected, Sink


def types_of(
    cx: Lowering, ins: Instruction, *allowed: str, modifiers: Collection[str] = (), sources: int | tuple[int, ...]
) -> tuple[str, ...]:
    """The instruction's types, each out of the words allowed at its place.

    `modifiers`: the others that may stand beside them; `sources`: how many operands follow the destination.
    """
    check(cx, ins, modifiers)
    found = ins.types
    if len(found) != len(allowed) or any(t not in words.split() for t, words in zip(found, allowed, strict=True)):
        raise cx.unsupported(f"`{ins.opcode}` of type `{'.'.join(found)}`")
    if len(ins.operands) - 1 not in (sources if isinstance(sources, tuple) else (sources,)):
        raise cx.unsupported(f"`{ins.name}` with {len(ins.operands)} operands")
    return found


def one_type(
    cx: Lowering, ins: Instruction, allowed: str, modifiers: Collection[str] = (), *, sources: int | tuple[int, ...]
) -> str:
    """The only type of an instruction with one plain destination."""
    (found,) = types_of(cx, ins, allowed, modifiers=modifiers, sources=sources)
    target(cx, ins)
    return found


def target(cx: Lowering, ins: Instruction, *, selected: bool = False) -> Operand:
    """The destination: a register or `_`, or where `selected` is set a register with a selector."""
    found = ins.operands[0]
    if not isinstance(found, Register | Sink | Selected if selected else Register | Sink):
        raise cx.unsupported(f"such a destination of `{ins.name}`")
    return found
