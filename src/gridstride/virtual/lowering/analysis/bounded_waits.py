"""Loops that wait for another thread and may give up: after so many rounds, or after some time.

Such a loop polls, and leaves by what it polls or by a count that every round changes. A kernel that goes on without
what it waited for is right only while the other thread is quick, so a schedule may let the loop run until it gives up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from gridstride.virtual.lowering.analysis.normalise import spins
from gridstride.virtual.ptx.flow.cfg import ControlFlowGraph
from gridstride.virtual.ptx.flow.loops import Loop
from gridstride.virtual.ptx.isa import ISA, Class
from gridstride.virtual.ptx.module import Instruction, Register, Special
from gridstride.virtual.ptx.operands import reads, registers_of, writes

CLOCKS = ("clock", "globaltimer")
_FOREIGN = frozenset([Class.MEMORY, Class.TEXTURE, Class.CALL, Class.BARRIER])


def gives_up(graph: ControlFlowGraph, loop: Loop, live: Collection[str], spinners: frozenset[str]) -> bool:
    """Whether a loop polls, in no loop further in, and may end by a count or a clock; `live` are the registers that
    its header needs.
    """
    inside = [ins for m in loop.members for ins in graph.blocks[m].instructions]
    own = [ins for m in loop.members if graph.loop_of(m) == loop for ins in graph.blocks[m].instructions]
    if not any(spins(ins, spinners) for ins in own):
        return False
    next_values = known_in_next_round(graph, loop, inside)
    foreign = with_what_follows({r for ins in inside if _foreign(ins) for r in writes(ins)}, inside, next_values)
    clocks = {r for ins in inside if _reads_clock(ins) for r in writes(ins)}
    counts = {
        register
        for m in loop.members
        if _in_every_round(graph, loop, m)
        for ins in graph.blocks[m].instructions
        for register in writes(ins)
        if register in live and register not in foreign
    }
    decided = with_what_follows(counts | clocks, inside, {})
    return any(not decided.isdisjoint(reads(ins)) for ins in exits_of(graph, loop))


def _foreign(ins: Instruction) -> bool:
    """Whether a result is what other threads may have left."""
    return ISA[ins.opcode].kind in _FOREIGN and "param" not in ins.modifiers and "const" not in ins.modifiers


def _reads_clock(ins: Instruction) -> bool:
    return any(isinstance(o, Special) and o.name.startswith(CLOCKS) for o in ins.operands)


def with_what_follows(registers: set[str], inside: list[Instruction], next_values: Mapping[str, bool]) -> set[str]:
    """The registers, and those that are worked out of them in the loop."""
    names = set(registers)
    while (
        more := {w for ins in inside if not names.isdisjoint(_sources(ins, next_values)) for w in writes(ins)} - names
    ):
        names |= more
    return names


def _sources(ins: Instruction, next_values: Mapping[str, bool]) -> tuple[str, ...]:
    """The registers that a result is worked out of, where these predicates are known."""
    if ins.opcode == "selp" and ins.guard is None:
        _, if_true, if_false, which = ins.operands
        if isinstance(which, Register) and which.name in next_values:
            return tuple(registers_of(if_true if next_values[which.name] else if_false))
    return reads(ins)


def known_in_next_round(graph: ControlFlowGraph, loop: Loop, inside: list[Instruction]) -> dict[str, bool]:
    """The predicates that a loop goes round by: `count = ready ? count : count + 1` counts in one that ready ends."""
    next_values: dict[str, bool] = {}
    waiting = [stays for m in loop.members if (stays := _stays(graph, loop, m)) is not None]
    while waiting:
        register, value = waiting.pop()
        writers = [ins for ins in inside if register in writes(ins)]
        if register not in next_values and len(writers) == 1 and writers[0].guard is None:
            next_values[register] = value
            waiting += _implied(writers[0], value=value)
    return next_values


def _stays(graph: ControlFlowGraph, loop: Loop, block: int) -> tuple[str, bool] | None:
    """The predicate at the end of a block, and what it is where the loop goes on; None where others decide that."""
    last, next_ = graph.blocks[block].terminator, graph.blocks[block].successors
    if last is None or last.guard is None or last.opcode != "bra" or len(next_) != 2:
        return None
    branches_inside, passed = (successor in loop.members for successor in next_)
    if branches_inside == passed or not _in_every_round(graph, loop, block):
        return None
    return last.guard.register.name, branches_inside != last.guard.negated


def _implied(ins: Instruction, *, value: bool) -> Iterator[tuple[str, bool]]:
    """What the operands of a predicate are that has this value."""
    implications = {("and", True), ("or", False)}
    if ins.opcode in ("and", "or") and (ins.opcode, value) in implications:
        yield from ((o.name, value) for o in ins.operands[1:] if isinstance(o, Register))
    elif ins.opcode == "not" and isinstance(ins.operands[1], Register):
        yield ins.operands[1].name, not value
    elif ins.opcode == "setp" and any((m, value) in implications for m in ins.modifiers):
        yield from ((o.name, value) for o in ins.operands[3:] if isinstance(o, Register))


def _in_every_round(graph: ControlFlowGraph, loop: Loop, block: int) -> bool:
    """Whether there is no way around a block from the loop's header to its next round."""
    if block == loop.header:
        return True
    ends = {source for source, _ in loop.back_edges} - {block}
    visited, waiting = {loop.header}, [loop.header]
    while waiting:
        for following in graph.blocks[waiting.pop()].successors:
            if following in loop.members and following not in (block, loop.header) and following not in visited:
                visited.add(following)
                waiting.append(following)
    return visited.isdisjoint(ends)


def exits_of(graph: ControlFlowGraph, loop: Loop) -> Iterator[Instruction]:
    """The guarded branches and returns that leave the loop."""
    for m in loop.members:
        last = graph.blocks[m].terminator
        leaves = not loop.members.issuperset(graph.blocks[m].successors)
        if last is not None and last.guard is not None and (leaves or ISA[last.opcode].kind is Class.LEAVE):
            yield last
