"""What an observed launch touched: a byte for each sector of global memory, and each worker's picture of L1."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride.virtual.lowering.runtime.l1 import WAYS as L1_WAYS
from gridstride.virtual.machine.arena import Arena, reserve

SECTOR = 32
WAYS = ("read", "write", "atomic")


class Touched:
    """Maps of one launch, one for each of WAYS; they take room only where the launch goes."""

    def __init__(self, arena: Arena) -> None:
        self._low, self._size = arena.base // SECTOR, -(-arena.size // SECTOR) + 1
        self._maps = [reserve(self._size) for _ in WAYS]
        self._caches: list[np.ndarray[Any, Any]] = []

    def attach(self, worker: Any, lines: int) -> None:
        """Gives a worker the maps, and an L1 of so many lines."""
        cache = np.zeros(max(lines // L1_WAYS, 1) * L1_WAYS, np.uint64)
        self._caches.append(cache)
        worker["cache"], worker["cache_sets"] = cache.ctypes.data, len(cache) // L1_WAYS
        for way, (_, base) in zip(WAYS, self._maps, strict=True):
            worker[f"{way}_map"] = base
        worker["map_low"], worker["map_size"] = self._low, self._size

    def bytes(self, allocations: np.ndarray[Any, Any], scale: float) -> tuple[int, ...]:
        """(read, written, changed by atomics): bytes of the sectors that were touched, times `scale` where only some of
        the blocks were watched, but no more of an allocation than it has.
        """
        return tuple(sum(self._of(m, a, scale) for a in allocations) for m, _ in self._maps)

    def _of(self, map_: Any, allocation: Any, scale: float) -> int:
        start, size = int(allocation["start"]), int(allocation["size"])
        if not size:
            return 0
        first, last = start // SECTOR - self._low, (start + size - 1) // SECTOR - self._low
        touched = int(np.count_nonzero(np.frombuffer(map_, np.bool_, last - first + 1, first)))
        return min(round(touched * scale), last - first + 1) * SECTOR
