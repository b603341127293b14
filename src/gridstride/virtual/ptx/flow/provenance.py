"""Which kernel parameter an address is made from, as far as the text says: `x + 4 * i` is made from `x`."""

from __future__ import annotations

from gridstride.virtual.ptx.isa import ISA
from gridstride.virtual.ptx.module import Address, Function, Immediate, Instruction, Register, Symbol
from gridstride.virtual.ptx.operands import registers_of, writes

MOST_STEPS = 200


def parameter_of(function: Function, ptx_line: int) -> str | None:
    """The name of the one parameter of 8 bytes that the address of a line's access comes from; None where none or
    several do, or where the address was read from memory on the way.
    """
    access = next((i for i in function.instructions if i.ptx_line == ptx_line), None)
    if access is None or function.kind != "entry":
        return None
    writers: dict[str, list[Instruction]] = {}
    for ins in function.instructions:
        for register in writes(ins):
            writers.setdefault(register, []).append(ins)
    wide = {p.name for p in function.params if p.size == 8}
    parameters: set[str] = set()
    work = [r for o in access.operands if isinstance(o, Address) for r in registers_of(o)][:1]
    visited = set(work)
    while work and len(visited) < MOST_STEPS:
        for ins in writers.get(work.pop(), ()):
            name = _loaded(ins)
            parameters |= {name} & wide if name else set()
            sources = ins.operands[ISA[ins.opcode].pointer]
            if ins.opcode in ("mov", "selp") and any(isinstance(o, Immediate) for o in sources):
                return None  # a null pointer, or an address made up
            more = [o.name for o in sources if isinstance(o, Register)]
            work += [r for r in more if r not in visited]
            visited.update(more)
    return parameters.pop() if len(parameters) == 1 else None


def _loaded(ins: Instruction) -> str | None:
    """The parameter that an instruction loads."""
    if ins.opcode != "ld" or "param" not in ins.modifiers or len(ins.operands) != 2:
        return None
    where = ins.operands[1]
    return where.base.name if isinstance(where, Address) and isinstance(where.base, Symbol) else None
