"""Volatile loads by which a thread waits: in a loop that goes round for what they read, and does nothing else then.

A lane that leaves such a loop has seen what another thread stored, in whatever order lanes run. A volatile load
anywhere else may count on lanes that run in step, as code written before Volta does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gridstride.virtual.lowering.analysis.bounded_waits import exits_of, known_in_next_round, with_what_follows
from gridstride.virtual.ptx.flow.cfg import ControlFlowGraph
from gridstride.virtual.ptx.flow.loops import Loop
from gridstride.virtual.ptx.isa import ISA, Class, Meaning
from gridstride.virtual.ptx.module import Immediate, Instruction
from gridstride.virtual.ptx.operands import reads, writes

_WAITING = frozenset(["ld", "nanosleep", "membar", "fence"])


def polls_of(graph: ControlFlowGraph, loop: Loop) -> Iterator[Instruction]:
    """The volatile loads of a loop that only waits for what they read."""
    inside = [ins for m in loop.members for ins in graph.blocks[m].instructions]
    loads = [ins for ins in inside if ins.opcode == "ld" and "volatile" in ins.modifiers]
    if not loads:
        return
    leaving = {register for ins in exits_of(graph, loop) for register in reads(ins)}
    done = _saying_done(graph, loop, inside, leaving)
    for m in loop.members:
        last = graph.blocks[m].terminator
        if last is not None and last.guard is not None and not done.isdisjoint(graph.blocks[m].successors):
            leaving.add(last.guard.register.name)
    next_values = known_in_next_round(graph, loop, inside)
    again = _in_rounds_that_wait(graph, loop, next_values) - done
    if not all(ins.opcode in _WAITING or _computes(ins) for m in again for ins in graph.blocks[m].instructions):
        return
    for ins in loads:
        if not leaving.isdisjoint(with_what_follows(set(writes(ins)), inside, {})):
            yield ins


def _saying_done(graph: ControlFlowGraph, loop: Loop, inside: list[Instruction], leaving: set[str]) -> set[int]:
    """The blocks that set a variable by which the loop ends, `done = true`: there is no next round behind them."""
    return {
        m
        for m in loop.members - {loop.header}
        for ins in graph.blocks[m].instructions
        if ins.opcode == "mov" and isinstance(ins.operands[1], Immediate)
        for register in writes(ins)
        if sum(register in writes(other) for other in inside) == 1
        and not leaving.isdisjoint(with_what_follows({register}, inside, {}))
    }


def _in_rounds_that_wait(graph: ControlFlowGraph, loop: Loop, next_values: Mapping[str, bool]) -> set[int]:
    """The blocks of rounds that another one follows, where these predicates are known."""
    visited, waiting = {loop.header}, [loop.header]
    while waiting:
        block = graph.blocks[waiting.pop()]
        last, ways = block.terminator, list(block.successors)
        if last is not None and last.opcode == "bra" and last.guard is not None and len(ways) == 2:
            value = next_values.get(last.guard.register.name)
            ways = ways if value is None else [ways[value == last.guard.negated]]
        more = {way for way in ways if way in loop.members} - visited
        visited |= more
        waiting += more
    return visited


def _computes(ins: Instruction) -> bool:
    """Whether it goes from registers to registers, or to another block."""
    row = ISA[ins.opcode]
    plain = row.meaning in (Meaning.OPERANDS, Meaning.DECIDED) and row.kind is not Class.WARP
    return plain or row.kind is Class.BRANCH
