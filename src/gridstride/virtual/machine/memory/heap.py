"""The device heap that malloc and free in a kernel share; it stays from launch to launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gridstride.protocol import Dim3
from gridstride.virtual.abi.memory_records import HEAP, HEAP_UNIT, ORIGIN, UNSET_SHIFT
from gridstride.virtual.machine.memory.addresses import reserve

if TYPE_CHECKING:
    from gridstride.virtual.machine.variant import Tables


@dataclass(frozen=True, slots=True)
class HeapUse:
    """What a launch did to the device heap. `live` blocks of `live_bytes` were left when it ended, of which `leaked`
    (negative where it freed more than it took) came from this launch; `failed` requests got a null pointer, the others
    `requested` bytes.
    """

    allocations: int
    frees: int
    live: int
    live_bytes: int
    failed: int
    requested: int

    @property
    def leaked(self) -> int:
        return self.allocations - self.frees


@dataclass(frozen=True, slots=True)
class HeapBlock:
    """A block of the heap, live or freed; `start` is its address."""

    start: int
    size: int
    freed: bool


class Heap:
    """`size` bytes for malloc, reserved now and taken as they are touched."""

    def __init__(self, size: int) -> None:
        units = -(-size // HEAP_UNIT)
        self.watched = False
        """Whether an observed launch may have noted what is unset."""
        self._memory, start = reserve(units * HEAP_UNIT)
        self._owner, self._bytes = np.zeros(units, np.uint32), np.zeros(units, np.int64)
        self._unset, self._origins = (
            np.zeros(units * HEAP_UNIT >> UNSET_SHIFT, np.uint8),
            np.zeros(units, ORIGIN.dtype()),
        )
        self.record = np.zeros(1, HEAP.dtype())
        fields = {"start": start, "size": units * HEAP_UNIT, "units": units, "owner": self._owner.ctypes.data,
                  "bytes": self._bytes.ctypes.data, "unset": self._unset.ctypes.data,
                  "origins": self._origins.ctypes.data}  # fmt: skip
        for name, value in fields.items():
            self.record[name] = value
        self.address = self.record.ctypes.data

    def use(self, before: HeapUse | None = None) -> HeapUse:
        """The counts since the heap was made, or since `before` was taken."""
        r = self.record[0]
        now = HeapUse(*(int(r[f]) for f in ("allocations", "frees", "live", "live_bytes", "failed", "asked")))
        if before is None:
            return now
        allocated, freed = now.allocations - before.allocations, now.frees - before.frees
        failed, requested = now.failed - before.failed, now.requested - before.requested
        return HeapUse(allocated, freed, now.live, now.live_bytes, failed, requested)

    def all_set(self) -> None:
        """A kernel has run that leaves no trace of what it writes."""
        if self.watched:
            self._unset[:] = 0
            self.watched = False

    def written(self, address: int, size: int) -> None:
        """A copy or a fill has written there, which may be elsewhere."""
        first = address - int(self.record["start"][0])
        if 0 <= first < int(self.record["size"][0]):
            self._unset[first >> UNSET_SHIFT : -(-(first + size) >> UNSET_SHIFT)] = 0

    def live(self) -> list[tuple[HeapBlock, np.void]]:
        """The blocks that were never freed, each with its origin record."""
        starts = np.flatnonzero((self._owner == np.arange(1, len(self._owner) + 1)) & (self._bytes >= 0))
        base = int(self.record["start"][0])
        return [(HeapBlock(base + int(u) * HEAP_UNIT, int(self._bytes[u]), False), self._origins[u]) for u in starts]

    def block(self, address: int) -> HeapBlock | None:
        """The block that an address lies in or just behind; None outside of any."""
        unit = (address - int(self.record["start"][0])) // HEAP_UNIT
        if not 0 <= unit < len(self._owner) or not self._owner[unit]:
            return None
        first = int(self._owner[unit]) - 1
        size = int(self._bytes[first])
        freed = size < 0
        return HeapBlock(int(self.record["start"][0]) + first * HEAP_UNIT, -1 - size if freed else size, freed)


@dataclass(frozen=True, slots=True)
class Origin:
    """A kernel as a block of the device heap remembers it."""

    kernel: str
    tables: Tables
    block: Dim3
