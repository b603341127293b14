"""The control-flow graph of a function: blocks, an order with contiguous loops, the loop nest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gridstride.virtual.ptx.flow.loops import Loop, nest
from gridstride.virtual.ptx.isa import ISA, Class
from gridstride.virtual.ptx.module import Function, Instruction, Label, LabelRef, Statement


@dataclass(frozen=True, slots=True)
class BasicBlock:
    """A basic block. `index` counts in text order. `labels` are all that stand at its head, `label` the first of them.

    `successors`: of a guarded `bra` (target, fall-through), of `brx` its targets without repetition, of a guarded
    `ret`, `exit` or `trap` the fall-through alone. None means that the block leaves the function.
    """

    index: int
    label: str | None
    instructions: tuple[Instruction, ...]
    successors: tuple[int, ...]
    predecessors: tuple[int, ...]
    labels: tuple[str, ...] = ()

    @property
    def terminator(self) -> Instruction | None:
        """The branch, return, exit or trap at the end, or None for a block that falls through."""
        last = self.instructions[-1] if self.instructions else None
        return last if last is not None and ends_block(last) else None


@dataclass(frozen=True, slots=True)
class ControlFlowGraph:
    """Blocks in text order, and what is known of them.

    `order`: the reachable blocks, entry first, topological but for back edges; the blocks of a loop are contiguous and
    stand before its exits, its header first. `position[index]` is the place in `order`, -1 for unreachable blocks.
    `loops`: outermost first. A guarded `ret` is no way to the end here: the lanes that take it are gone.
    """

    blocks: tuple[BasicBlock, ...]
    order: tuple[int, ...]
    position: tuple[int, ...]
    loops: tuple[Loop, ...]

    def loop_of(self, index: int) -> Loop | None:
        """The innermost loop around a block."""
        loops = [loop for loop in self.loops if index in loop.members]
        return max(loops, key=lambda loop: loop.depth, default=None)


def ends_block(instruction: Instruction) -> bool:
    """True for branches, returns, exits and traps, guarded or not."""
    return ISA[instruction.opcode].ends_block


def build(function: Function) -> ControlFlowGraph:
    """The graph of a function with a body; one empty block for an empty body."""
    cuts = _cut(function.body)
    index_of = {label: index for index, (labels, _) in enumerate(cuts) for label in labels}
    successors = [_successors(code, index, len(cuts), index_of, function) for index, (_, code) in enumerate(cuts)]
    predecessors = reverse(successors)
    blocks = tuple(
        BasicBlock(i, labels[0] if labels else None, tuple(code), successors[i], predecessors[i], tuple(labels))
        for i, (labels, code) in enumerate(cuts)
    )
    order, loops = nest(successors)
    position = [-1] * len(blocks)
    for place_in_order, index in enumerate(order):
        position[index] = place_in_order
    return ControlFlowGraph(
        blocks=blocks,
        order=order,
        position=tuple(position),
        loops=loops,
    )


def reverse(successors: Sequence[Iterable[int]]) -> list[tuple[int, ...]]:
    """Predecessors from successors, each in index order."""
    predecessors: list[list[int]] = [[] for _ in successors]
    for source, targets in enumerate(successors):
        for target in targets:
            predecessors[target].append(source)
    return [tuple(sources) for sources in predecessors]


def _cut(body: Sequence[Statement]) -> list[tuple[list[str], list[Instruction]]]:
    """Cut a body into blocks: a label starts one, a branch, return, exit or trap ends one."""
    cuts: list[tuple[list[str], list[Instruction]]] = [([], [])]
    cut_here = False
    for statement in body:
        labels, code = cuts[-1]
        if cut_here or (isinstance(statement, Label) and code):
            labels, code = [], []
            cuts.append((labels, code))
        if isinstance(statement, Label):
            labels.append(statement.name)
            cut_here = False
        else:
            code.append(statement)
            cut_here = ends_block(statement)
    return cuts


def _successors(
    code: list[Instruction], index: int, count: int, index_of: Mapping[str, int], function: Function
) -> tuple[int, ...]:
    following = (index + 1,) if index + 1 < count else ()
    last = code[-1] if code else None
    if last is None or not ends_block(last):
        return following
    targets: tuple[int, ...] = ()
    if ISA[last.opcode].kind is Class.BRANCH:
        name = next(operand.name for operand in last.operands if isinstance(operand, LabelRef))
        labels = (name,) if last.opcode == "bra" else function.branch_targets[name]
        targets = tuple(index_of[label] for label in labels)
    return tuple(dict.fromkeys(targets if last.guard is None else targets + following))
