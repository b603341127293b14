"""Which of a kernel's basic blocks a run came to, and which of its branches some lanes went past."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride.virtual.abi.counter_tables import CounterTables

_ANYWHERE = frozenset({"parameter", "branch", "control", "convert", "move", "integer", "integer_fma"})
"""Classes of instructions that compilers put where they like."""
Line = tuple[str | None, int | None]


def outcomes(raw: np.ndarray[Any, Any], tables: CounterTables) -> bytes:
    """A bit for each basic block that any lane came to; then, of each that one branch alone leads to, whether any lane
    went another way there. `raw` are the counters of a run; of a large grid they know some blocks of threads only.
    """
    sources, targets = np.array(tables.entries, np.int64).reshape(-1, 2).T
    passed = raw[targets + 1] < raw[sources + 1]  # the second counter of a block is that of its lanes
    return np.packbits(np.concatenate((raw[tables.executions] > 0, passed))).tobytes()


def unreached_lines(outcome: bytes, tables: CounterTables) -> frozenset[Line]:
    """Lines, with their files, that compute or move something in blocks that no lane came to, and nothing of that sort
    in others: addresses are often worked out ahead of a branch, and unrolled loops have a line many times.
    """
    bits = np.unpackbits(np.frombuffer(outcome, np.uint8), count=len(tables.blocks))
    if bits.all():
        return frozenset()
    work = [{(file, line, kind) for file, line, kind, _ in block.lines if kind not in _ANYWHERE}
            for block in tables.blocks]  # fmt: skip
    reached = set[tuple[Any, ...]]().union(*(own for own, bit in zip(work, bits, strict=True) if bit))
    return frozenset((file, line) for file, line, _ in set[tuple[Any, ...]]().union(*work) - reached)
