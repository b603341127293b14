"""The control flow of one function, as the analysis and the generator use it; instructions that hold or end lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gridstride.virtual.ptx.isa import ISA, Class
from gridstride.virtual.ptx.module import Instruction


@dataclass(slots=True)
class Code:
    """A function's control flow in the form the analysis and the generator work on; blocks are in execution order."""

    blocks: list[list[Instruction]]
    successors: list[tuple[int, ...]]
    live_in: list[set[str]]
    registers: Mapping[str, str]
    spin_edges: set[tuple[int, int]]
    reads: Callable[[Instruction], tuple[str, ...]]
    writes: Callable[[Instruction], tuple[str, ...]]
    uniform_params: frozenset[str]
    """Parameters that all lanes share: a kernel's own, none of a device function."""
    entry: bool
    register_params: frozenset[str]
    """Parameters that are registers: each lane comes with a value of its own."""
    branch_targets: Mapping[str, tuple[str, ...]]
    """The labels of each list that an indexed branch uses."""
    bypassing: dict[int, frozenset[int]] = field(default_factory=dict)
    """For a block with a barrier, those where lanes that wait have gone around it; worked out as it is asked for."""
    reachable_without: dict[int, frozenset[int]] = field(default_factory=dict)
    """For a block with a barrier, those that there is a way to without it; worked out as it is asked for."""
    bounded_waits: set[tuple[int, int]] = field(default_factory=set)
    """Those of the spin edges whose loop may give up."""
    polls: set[int] = field(default_factory=set)
    """The ids of the volatile loads by which a thread waits (analysis/polls.py)."""
    settled: frozenset[int] = frozenset()
    """The ids of the loads that take the last word of atomics (analysis/settled_reads.py)."""


def last_of(block: list[Instruction]) -> Instruction | None:
    """The last instruction of a block; None of an empty one."""
    return block[-1] if block else None


def ends_lanes(ins: Instruction | None) -> bool:
    """True for an instruction that ends its lanes or returns them to the caller."""
    return ins is not None and ISA[ins.opcode].kind is Class.LEAVE


HELD = "held"
"""Modifier of calls whose function may wait: `normal` sets it."""


def waits(ins: Instruction | None) -> bool:
    """True for a barrier that holds its lanes back, and for a call of a function that may."""
    if ins is None or not ISA[ins.opcode].holds:
        return False
    modifiers = set(ins.modifiers)
    if ins.opcode == "call":
        return HELD in modifiers
    return "wait" in modifiers if "cluster" in modifiers else not {"warp", "arrive"} & modifiers
