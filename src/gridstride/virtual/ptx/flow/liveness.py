"""Which registers are live where, as integers with one bit for each register."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gridstride.virtual.ptx.flow.cfg import BasicBlock, ControlFlowGraph
from gridstride.virtual.ptx.module import Instruction
from gridstride.virtual.ptx.operands import reads, writes


@dataclass(frozen=True, slots=True)
class Liveness:
    """Bit `index[name]` of `live_in[block]` is set where the register may be read before it is written again.

    Registers that no instruction names have no index. Liveness is that of one thread: a write under a guard does not
    end what was live before it.
    """

    index: dict[str, int]
    names: tuple[str, ...]
    live_in: tuple[int, ...]
    live_out: tuple[int, ...]

    def registers(self, bits: int) -> tuple[str, ...]:
        """The names in a set of bits."""
        names: list[str] = []
        while bits:
            lowest = bits & -bits
            names.append(self.names[lowest.bit_length() - 1])
            bits ^= lowest
        return tuple(names)

    def after(self, block: BasicBlock) -> Iterator[tuple[Instruction, int]]:
        """The instructions of a block, last first, each with the set of registers live after it."""
        live = self.live_out[block.index]
        for instruction in reversed(block.instructions):
            yield instruction, live
            live = _live_before(live, mask(self.index, writes(instruction)), mask(self.index, reads(instruction)))


Names = Callable[[Instruction], tuple[str, ...]]


def analyse(graph: ControlFlowGraph, *, reads: Names = reads, writes: Names = writes) -> Liveness:
    """Liveness of every block, unreachable ones included. `reads` and `writes` may be ones that remember."""
    index: dict[str, int] = {}
    effects = [_effect(block, index, reads, writes) for block in graph.blocks]
    live_in = [uses for uses, _ in effects]
    live_out = [0] * len(effects)
    unreachable = [block.index for block in graph.blocks if graph.position[block.index] < 0]
    work = [*graph.order, *unreachable]  # taken from the end: most blocks come after their successors are settled
    queued = set(work)
    while work:
        at = work.pop()
        queued.discard(at)
        block = graph.blocks[at]
        out = 0
        for successor in block.successors:
            out |= live_in[successor]
        live_out[at] = out
        live_before = _live_before(out, effects[at][1], effects[at][0])
        if live_before != live_in[at]:
            live_in[at] = live_before
            fresh = [source for source in block.predecessors if source not in queued]
            work += fresh
            queued.update(fresh)
    return Liveness(index, tuple(index), tuple(live_in), tuple(live_out))


def mask(index: Mapping[str, int], names: Iterable[str]) -> int:
    """The set of the named registers as bits."""
    bits = 0
    for name in names:
        bits |= 1 << index[name]
    return bits


def _live_before(live: int, written: int, read: int) -> int:
    return live & ~written | read


def _effect(block: BasicBlock, index: dict[str, int], reads: Names, writes: Names) -> tuple[int, int]:
    """What a block reads before writing it, and what it writes."""
    uses: set[str] = set()
    kills: set[str] = set()
    for instruction in block.instructions:
        uses.update([name for name in reads(instruction) if name not in kills])
        kills.update(writes(instruction))
    for name in sorted(uses | kills):
        index.setdefault(name, len(index))
    return mask(index, uses), mask(index, kills)
