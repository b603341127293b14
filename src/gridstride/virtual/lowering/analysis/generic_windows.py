"""Whether a kernel may reach its block's shared memory through generic addresses."""

from __future__ import annotations

from collections.abc import Iterable

from gridstride.virtual.lowering.analysis.memory_operands import space_of
from gridstride.virtual.ptx.module import Function


def makes_generic(functions: Iterable[Function]) -> bool:
    """True where an address in shared memory is made a generic one, the only way to have such."""
    return any(
        ins.opcode == "cvta" and "to" not in ins.modifiers and space_of(ins) == "shared"
        for f in functions
        for ins in f.instructions
    )
