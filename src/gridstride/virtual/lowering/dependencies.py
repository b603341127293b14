"""How long a warp alone takes through a basic block: the longest chain of instructions that wait for each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridstride.virtual.lowering.classes import kind_of
from gridstride.virtual.lowering.instructions.memory import space_of
from gridstride.virtual.ptx.module import Instruction

Registers = Callable[[Instruction], tuple[str, ...]]

MEMORY_LATENCIES = (40, 280, 600)
"""Clocks to a global load's result for which chains are worked out: what lies between is interpolated."""

_LATENCY = {
    "move": 2, "parameter": 0, "branch": 12, "control": 12, "barrier": 20, "special": 22, "convert": 6, "warp": 24,
    "tensor": 33, "fp64": 8, "fp64_fma": 8, "texture": 500,
}  # fmt: skip
"""Clocks from an instruction to one that needs its result, on Hopper: 4.3 for a multiply-add, 30 in shared memory and
49 in L1 measured on an H200 (bench/prediction.py), the others after Luo et al., arXiv 2402.13499."""
_ARITHMETIC = 4
_SHARED = 30
_LONG = frozenset("div rem sqrt rcp".split())
_LONG_CLOCKS = 40  # division and correctly rounded roots are short programs


def chain(block: Sequence[Instruction], reads: Registers, writes: Registers, *, again: bool) -> list[int]:
    """Clocks of the chain for each of MEMORY_LATENCIES. `again`: the block is a loop's body, whose chain goes on
    from one round to the next: what counts is what a second round adds.
    """
    return [_length(block, reads, writes, latency, again=again) for latency in MEMORY_LATENCIES]


def _length(block: Sequence[Instruction], reads: Registers, writes: Registers, latency: int, *, again: bool) -> int:
    ready: dict[str, int] = {}
    first = _walk(block, reads, writes, latency, ready, 0)
    return _walk(block, reads, writes, latency, ready, first[0]) [1] - first[1] if again else first[1]


def _walk(
    block: Sequence[Instruction], reads: Registers, writes: Registers, latency: int, ready: dict[str, int], start: int
) -> tuple[int, int]:
    """(when the block's branch is decided, when its last result is there); instructions issue one a clock at most."""
    issued, last = start, start
    decided = start
    for ins in block:
        begins = max([start, *(ready.get(r, 0) for r in reads(ins))])
        issued += 1
        ends = begins + _latency(ins, latency)
        for register in writes(ins):
            ready[register] = ends
        kind = kind_of(ins)
        if kind in ("branch", "barrier", "control"):
            decided = max(decided, begins)
        last = max(last, ends if writes(ins) or kind in ("branch", "barrier") else begins)
    return max(decided, start), max(last, issued)


def _latency(ins: Instruction, memory: int) -> int:
    if ins.opcode in _LONG and not {"approx", "full"} & set(ins.modifiers):
        return _LONG_CLOCKS
    kind = kind_of(ins)
    if kind != "memory":
        return _LATENCY.get(kind, _ARITHMETIC)
    if ins.opcode in ("st", "red", "prefetch", "cp", "stmatrix"):
        return 1
    space = space_of(ins)
    if space in ("shared", "local") or ins.opcode == "ldmatrix":
        return _SHARED
    return max(memory, MEMORY_LATENCIES[1]) if ins.opcode == "atom" else memory
