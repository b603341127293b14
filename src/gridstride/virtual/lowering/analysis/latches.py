"""One way back for each loop: a block, the latch, that every lane passes on its way from one round to the next.

Groups of lanes run in the order of their blocks. A `continue`, or an inner loop whose exit is the head of the outer
one, leads straight to the loop's head, which is the lowest block of all: those lanes would begin the next round, and
come to its barrier or its shuffle, while others are still within this one. The latch is the last block of the loop, so
they wait there for the others, as they meet on hardware.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gridstride.virtual.ptx.flow.cfg import ControlFlowGraph, ends_block
from gridstride.virtual.ptx.module import Function, Instruction, Label, LabelRef, Operand, Statement

ADDED = "added"
"""Modifier of branches that the text does not have, so that nobody counts them."""
_PREFIX = "%latch"


def with_latches(function: Function, graph: ControlFlowGraph) -> Function:
    """The function with a latch for each loop that needs one; the same function where none does.

    `graph` is the function's own.
    """
    loops = {loop.header: frozenset(source for source, _ in loop.back_edges) for loop in graph.loops}
    without = {header: sources for header, sources in loops.items() if not _meet(graph, header, sources)}
    return _Rewriting(function, graph, without).function() if without else function


def _meet(graph: ControlFlowGraph, header: int, sources: frozenset[int]) -> bool:
    """True where the lanes of a loop meet at the end of each round: one block leads back, and no inner loop has it."""
    if len(sources) > 1:
        return False
    innermost = graph.loop_of(next(iter(sources)))
    return innermost is not None and innermost.header == header


class _Rewriting:
    """A function's text while the ways back of some loops are led to latches."""

    def __init__(self, function: Function, graph: ControlFlowGraph, loops: Mapping[int, frozenset[int]]) -> None:
        self.old, self.graph, self.loops = function, graph, loops
        self.tables = dict(function.branch_targets)
        self.latches: dict[int, Instruction] = {}
        """By header: an instruction that ends one of the loop's rounds, whose line the latch gets."""

    def function(self) -> Function:
        body = [statement for block in self.graph.blocks for statement in self._block(block.index)]
        if not (isinstance(body[-1], Instruction) and ends_block(body[-1]) and body[-1].guard is None):
            body.append(Instruction("ret", (), (), None, self.old.line, None))
        for header, last in self.latches.items():
            body += [Label(f"{_PREFIX}{header}"), _added(self.graph.blocks[header].labels[0], last)]
        return replace(self.old, body=tuple(body), branch_targets=self.tables)

    def _block(self, index: int) -> Iterator[Statement]:
        block = self.graph.blocks[index]
        yield from (Label(name) for name in block.labels)
        headers = {header for header, sources in self.loops.items() if index in sources}
        if not headers:
            yield from block.instructions
            return
        self.latches.update(dict.fromkeys(headers, block.instructions[-1]))
        target = {name: f"{_PREFIX}{h}" for h in headers for name in self.graph.blocks[h].labels}
        last = block.terminator
        yield from block.instructions[: None if last is None else -1]
        if last is not None:
            yield self._redirected(last, target)
        if index + 1 in headers and (last is None or last.guard is not None):  # the head comes next in the text
            yield _added(f"{_PREFIX}{index + 1}", block.instructions[-1])

    def _redirected(self, last: Instruction, target: Mapping[str, str]) -> Instruction:
        if last.opcode == "brx":
            return replace(last, operands=tuple(self._table(o, target) for o in last.operands))
        if not any(isinstance(o, LabelRef) and o.name in target for o in last.operands):
            return last
        added = any(isinstance(o, LabelRef) and o.name.startswith("%") for o in last.operands)
        operands = tuple(LabelRef(target.get(o.name, o.name)) if isinstance(o, LabelRef) else o for o in last.operands)
        return replace(last, operands=operands, modifiers=(*last.modifiers, ADDED) if added else last.modifiers)

    def _table(self, operand: Operand, target: Mapping[str, str]) -> Operand:
        """The list of targets of an indexed branch, which other branches may use too: so another list."""
        if not isinstance(operand, LabelRef):
            return operand
        name = f"{operand.name}{_PREFIX}{len(self.tables)}"
        self.tables[name] = tuple(target.get(label, label) for label in self.tables[operand.name])
        return LabelRef(name)


def _added(label: str, beside: Instruction) -> Instruction:
    return Instruction("bra", (ADDED,), (LabelRef(label),), None, beside.ptx_line, beside.loc)


def counts(ins: Instruction) -> bool:
    """False for a branch that the lowering added: it says so, or leads to a label that no PTX text has."""
    if ADDED in ins.modifiers:
        return False
    return not any(
        isinstance(o, LabelRef) and o.name.startswith("%") and not o.name.startswith(_PREFIX) for o in ins.operands
    )
