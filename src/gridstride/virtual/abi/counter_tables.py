"""What the counters of an observed build stand for: which block, branch or access each belongs to."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

LineRow = tuple[str | None, int | None, str, int]
"""File, line, class of instructions or type of factors, and how many of them."""
CopyRow = tuple[str | None, int | None, int]
"""File, line, and instructions that stand between a copy and the wait for it."""


@dataclass(frozen=True, slots=True)
class BlockCounters:
    """A basic block: executions are counted `at`, active lanes behind. `place`: number of its function, and its own
    there; `entered_from`: the block whose branch alone leads here; `products`: operations of matrix products; `chain`:
    clocks at each of MEMORY_LATENCIES.
    """

    at: int
    place: tuple[int, int]
    entered_from: int | None
    instructions: int
    lines: tuple[LineRow, ...]
    products: tuple[LineRow, ...]
    overlapped: tuple[CopyRow, ...]
    chain: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BranchCounter:
    """A branch: how often lanes of one warp left it on different ways is counted `at`."""

    at: int
    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class AccessCounters:
    """An access: its COUNTERS begin `at`; one through a generic address has some for each space. `merged`: ptxas adds
    up the warp's lanes first.
    """

    at: int
    file: str | None
    line: int | None
    space: str
    kind: str
    bytes: int
    opcode: str
    merged: bool


@dataclass(frozen=True)
class CounterTables:
    """All counters of a kernel, `size` of them, and what its race detector must know.

    `unit` and `global_unit`: bytes of shared and of global memory that share one entry of the shadow; `allocates`: the
    kernel calls malloc; `gives_way`: other warps may come in between its accesses; `entries`: counters of each block
    that only one branch leads to, behind those of the block that ends in the branch.
    """

    blocks: tuple[BlockCounters, ...]
    accesses: tuple[AccessCounters, ...]
    branches: tuple[BranchCounter, ...]
    entries: tuple[tuple[int, int], ...]
    size: int
    unit: int
    global_unit: int
    allocates: bool
    gives_way: bool

    # Of hundreds of launches in a verdict each asks for these.
    @functools.cached_property
    def executions(self) -> np.ndarray[Any, Any]:
        """Where the executions of each block are counted."""
        return np.array([block.at for block in self.blocks], np.int64)

    @functools.cached_property
    def instructions(self) -> np.ndarray[Any, Any]:
        """Of each block."""
        return np.array([block.instructions for block in self.blocks], np.int64)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> CounterTables:
        """From what json.loads makes of dataclasses.asdict."""
        rows = {
            "blocks": tuple(_block(row) for row in data["blocks"]),
            "accesses": tuple(AccessCounters(**row) for row in data["accesses"]),
            "branches": tuple(BranchCounter(**row) for row in data["branches"]),
            "entries": tuple((source, target) for source, target in data["entries"]),
        }
        return CounterTables(**{**data, **rows})


def _block(row: Mapping[str, Any]) -> BlockCounters:
    lists = {name: tuple(map(tuple, row[name])) for name in ("lines", "products", "overlapped")}
    return BlockCounters(**{**row, **lists, "place": tuple(row["place"]), "chain": tuple(row["chain"])})
