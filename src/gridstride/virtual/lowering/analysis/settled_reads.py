"""Plain loads that take what atomics have made for the last word: a maximum, a minimum or a mask that is then stored.

Such words are often read plainly first, to save the atomic, and an old value does no harm there. A load that no such
atomic can follow, and whose value goes into what the function stores, saves none: an old value is a wrong result.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridstride.virtual.lowering.analysis.control_flow import Code
from gridstride.virtual.lowering.analysis.memory_operands import ordered, space_of
from gridstride.virtual.ptx.isa import ISA, Class
from gridstride.virtual.ptx.module import Instruction
from gridstride.virtual.ptx.operands import registers_of

_SETTLING = frozenset(["min", "max", "and", "or"])
_SPACES = ("shared", "generic")


def settled_reads(code: Code) -> frozenset[int]:
    """The ids of those loads, of shared memory maybe; none in a function without such atomics."""
    if not any(_settles(ins) for block in code.blocks for ins in block):
        return frozenset()
    loads = [ins for ins in _after_last_atomic(code) if _plain_load(ins)]
    return frozenset(id(ins) for ins in loads if _is_written(code, ins))


def _settles(ins: Instruction) -> bool:
    """Whether an atomic, in shared memory maybe, looks at the value itself; a compare-and-swap has been the last."""
    return ins.opcode in ("atom", "red") and space_of(ins) in _SPACES and not _SETTLING.isdisjoint(ins.modifiers)


def _may_settle(ins: Instruction) -> bool:
    """The same, or a call, whose function may have one."""
    return _settles(ins) or ISA[ins.opcode].kind is Class.CALL


def _plain_load(ins: Instruction) -> bool:
    return ins.opcode == "ld" and space_of(ins) in _SPACES and not ordered(ins)


def _after_last_atomic(code: Code) -> Iterator[Instruction]:
    """The instructions that no such atomic can follow."""
    leads_to_atomic = [
        any(_may_settle(ins) for ins in block) for block in code.blocks
    ]  # such an atomic stands in it, or behind
    changed = True
    while changed:
        changed = False
        for index, following in enumerate(code.successors):
            if not leads_to_atomic[index] and any(leads_to_atomic[s] for s in following):
                leads_to_atomic[index] = changed = True
    for index, block in enumerate(code.blocks):
        if any(leads_to_atomic[s] for s in code.successors[index]):
            continue
        yield from block[max((at + 1 for at, ins in enumerate(block) if _may_settle(ins)), default=0) :]


def _is_written(code: Code, load: Instruction) -> bool:
    """Whether what a load reads goes into what is stored, or where to; what it only decides may be a hint."""
    names = set(code.writes(load))
    inside = [ins for block in code.blocks for ins in block]
    stores = [ins for ins in inside if ins.opcode in ("st", "atom", "red")]
    instructions = [ins for ins in inside if ins.opcode == "ld" or ISA[ins.opcode].kind is not Class.MEMORY]
    while more := {w for ins in instructions if names & {*code.reads(ins)} for w in code.writes(ins)} - names:
        names |= more
    return any(not names.isdisjoint(registers_of(o)) for ins in stores for o in ins.operands)
