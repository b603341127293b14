"""Which registers an instruction reads and writes, by key in `Function.registers`.

The rule of the ISA is that the first operand is the destination unless it is an address; isa.py has what breaks it. A
guarded write keeps the old value in the lanes that are off, so its destination counts as read too.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridstride.virtual.ptx.isa import ISA
from gridstride.virtual.ptx.module import (
    Address,
    Arguments,
    DestinationPair,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Register,
    Selected,
    TensorAddress,
    Vector,
)


def destination(instruction: Instruction) -> Operand | None:
    """The operand that is written, or None. For a call, the returned `Arguments`."""
    operands, words = instruction.operands, ISA[instruction.opcode].writes
    if words is None or not operands or isinstance(operands[0], Address | TensorAddress):
        return None
    return operands[0] if not words or not words.isdisjoint(instruction.modifiers[:2]) else None


def writes(instruction: Instruction) -> tuple[str, ...]:
    """The registers written, in operand order."""
    written = destination(instruction)
    return () if written is None else tuple(registers_of(written))


def reads(instruction: Instruction) -> tuple[str, ...]:
    """The registers read: guard, sources, addresses, accumulators, and the destination of a guarded write."""
    names = [] if instruction.guard is None else [instruction.guard.register.name]
    written = destination(instruction)
    sources = instruction.operands if written is None else instruction.operands[1:]
    for operand in sources:
        if type(operand) is Register:
            names.append(operand.name)
        else:
            names.extend(registers_of(operand))
    if written is not None and (instruction.guard is not None or _accumulates(instruction)):
        names.extend(registers_of(written))
    return tuple(names)


def registers_of(operand: Operand) -> Iterator[str]:
    """Every register that stands anywhere in an operand."""
    if isinstance(operand, Register):
        yield operand.name
    elif isinstance(operand, Address):
        if isinstance(operand.base, Register):
            yield operand.base.name
    elif isinstance(operand, Vector | Arguments):
        for item in operand.items:
            yield from registers_of(item)
    elif isinstance(operand, Negated | Selected):
        yield operand.register.name
    elif isinstance(operand, DestinationPair):
        yield from registers_of(operand.destination)
        yield from registers_of(operand.predicate)
    elif isinstance(operand, TensorAddress):
        parts = (operand.base, *(() if operand.sampler is None else (operand.sampler,)), *operand.coordinates)
        for part in parts:
            yield from registers_of(part)


def items(operand: Operand) -> tuple[Operand, ...]:
    """What a vector holds; anything else is alone."""
    return operand.items if isinstance(operand, Vector) else (operand,)


def address(instruction: Instruction, index: int) -> Address:
    """An operand that is an address by the grammar."""
    operand = instruction.operands[index]
    assert isinstance(operand, Address), instruction
    return operand


def immediate(operand: Operand) -> int:
    """The value of an operand that is an integer constant by the grammar."""
    assert isinstance(operand, Immediate), operand
    return operand.bits


def _accumulates(instruction: Instruction) -> bool:
    """wgmma adds to its destination, unless its scale-d is the constant false."""
    if instruction.opcode != "wgmma":
        return False
    position = 5 if "sp" in instruction.modifiers else 3  # the sparse form has metadata and selector before scale-d
    scale = instruction.operands[position] if len(instruction.operands) > position else None
    return not (isinstance(scale, Immediate) and scale.bits == 0)
