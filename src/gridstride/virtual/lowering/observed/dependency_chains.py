"""How long a warp alone takes through a kernel: the chains of instructions that wait for each other's results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridstride.virtual.lowering.analysis.memory_operands import space_of
from gridstride.virtual.lowering.observed.instruction_classes import CLASSES, kind_of
from gridstride.virtual.ptx.isa import ISA, Class
from gridstride.virtual.ptx.module import Instruction

Registers = Callable[[Instruction], tuple[str, ...]]

MEMORY_LATENCIES = (40, 280, 600)
"""Clocks to a global load's result for which chains are worked out: what lies between is interpolated."""

_LATENCY = {
    "move": 2, "parameter": 0, "branch": 12, "control": 12, "barrier": 20, "special": 22, "convert": 6, "warp": 24,
    "tensor": 33, "fp64": 8, "fp64_fma": 8, "texture": 500, "fp32": 4, "fp32_fma": 4, "half": 4, "integer": 4,
    "integer_fma": 4,
}  # fmt: skip
"""Clocks from an instruction to one that needs its result, on Hopper: 4.3 for a multiply-add, 30 from
one address in shared memory to the next measured on an H200 (bench/prediction.py), the others after Luo et al., arXiv
2402.13499."""
if unmatched := {*CLASSES, "memory"} ^ {*_LATENCY, "memory"}:
    raise ImportError(f"dependency_chains.py must have one latency for each class: see {', '.join(sorted(unmatched))}")
_SHARED = 24
_LONG = 40  # division and correctly rounded roots are short programs


class Chain:
    """A warp's way through a function, block after block, at each of MEMORY_LATENCIES.

    Instructions of a block may change places, as ptxas has them do, but the next block starts only when all have been
    issued, for warps issue in order. Results that are still on their way are waited for where they are first needed.
    """

    def __init__(self) -> None:
        self._time = [0] * len(MEMORY_LATENCIES)
        self._ready: list[dict[str, int]] = [{} for _ in MEMORY_LATENCIES]

    def block(self, block: Sequence[Instruction], reads: Registers, writes: Registers, *, again: bool) -> list[int]:
        """Clocks that the block takes at each latency. `again`: it is a loop's body, and what counts is what a later
        round takes.
        """
        lengths = []
        for i, latency in enumerate(MEMORY_LATENCIES):
            times = [self._time[i]]
            for _ in range(3 if again else 1):
                times.append(_issued(block, reads, writes, latency, self._ready[i], times[-1]))
            self._time[i] = times[-1]
            lengths.append(times[-1] - times[-2])
        return lengths


def _issued(
    block: Sequence[Instruction], reads: Registers, writes: Registers, latency: int, ready: dict[str, int], start: int
) -> int:
    """When the last instruction of the block has been issued, at one a clock."""
    last = start
    for ins in block:
        begins = max([start, *(ready.get(r, 0) for r in reads(ins))])
        clocks = _latency(ins, latency)
        for register in writes(ins):
            ready[register] = begins + clocks
        holds = clocks if kind_of(ins) in ("branch", "barrier") or _waits(ins) else 0
        last = max(last, begins + holds)
    return max(last, start + len(block))


def _waits(ins: Instruction) -> bool:
    """For an asynchronous copy: what it brings is on its way as long as a load would be."""
    if ins.opcode == "cp":
        return not {"wait_group", "wait_all"}.isdisjoint(ins.modifiers)
    return ins.opcode == "mbarrier" and not {"try_wait", "test_wait"}.isdisjoint(ins.modifiers)


def _latency(ins: Instruction, memory: int) -> int:
    if ISA[ins.opcode].kind in (Class.DIVISION, Class.ROOT) and not {"approx", "full"} & set(ins.modifiers):
        return _LONG
    kind = kind_of(ins)
    if _waits(ins):
        return memory
    if kind != "memory":
        return _LATENCY[kind]
    space = space_of(ins)
    if space in ("shared", "local") or ins.opcode == "ldmatrix":
        return _SHARED
    return max(memory, MEMORY_LATENCIES[1]) if ins.opcode == "atom" else memory
