"""Global memory of the virtual GPU: one reserved range of addresses, with gaps between the allocations."""

from __future__ import annotations

import bisect
import contextlib
import mmap
import os
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.virtual.abi.memory_records import ALLOCATION
from gridstride.virtual.machine.memory.addresses import reserve
from gridstride.virtual.machine.memory.owners import FREED

ALIGN = 256
GAP = 3072
"""Bytes between allocations, so that an index a little past one is in none. Not a small number either: arrays whose
sizes are multiples of a page would lie at nearly the same place in their pages, and processors hold a load back that
looks like an unfinished store there (saxpy on 2^26 elements ran 1.4 times slower with 512).
"""
_STALE_KEPT, _STALE_LEAST = 64 << 20, 1 << 20
"""Bytes of freed memory whose pages are kept, and of a range that is worth a call of the system's."""
FREED_KEPT = 256
"""Allocations that are remembered once they are freed."""
PAGE = mmap.PAGESIZE


@dataclass(frozen=True, slots=True)
class Near:
    """The allocation closest to an address, and how far the address is from it (negative: before its start)."""

    start: int
    size: int
    distance: int


def host_memory() -> int:
    """Bytes of memory this machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


class Arena:
    """Allocations by first fit. Not locked: the device does that.

    `quarantine`: bytes of freed memory that are held back, so that who still uses an old address meets nobody else's.
    """

    def __init__(self, size: int, *, quarantine: int = 0) -> None:
        self.size = size
        self._quarantine, self._held = quarantine, 0
        self._waiting: deque[tuple[int, int]] = deque()
        self._gone: deque[tuple[int, int]] = deque(maxlen=FREED_KEPT)
        self._memory, self.base = reserve(size)
        if hasattr(mmap, "MADV_HUGEPAGE"):  # streaming kernels run a tenth faster: fewer page walks
            with contextlib.suppress(OSError):
                self._memory.madvise(mmap.MADV_HUGEPAGE)
        self._starts: list[int] = []
        self._sizes: dict[int, int] = {}
        self._rooms: dict[int, tuple[int, int]] = {}  # of each allocation, where what it takes begins, and its bytes
        self._stale = 0  # bytes given back whose pages this process still has
        self._free: list[tuple[int, int]] = [(self.base + PAGE, size - 2 * PAGE)]
        self.used = 0
        self.generation = 0
        self._table: np.ndarray[Any, Any] | None = None
        self.hidden: Mapping[int, int] = {}
        """Allocations that kernels do not reach for now: of each start, the GPU whose memory it is, or FREED."""

    def hide(self, hidden: Mapping[int, int]) -> None:
        """Has kernels reach all allocations but these, from the next launch on."""
        if hidden != self.hidden:
            self.hidden = hidden
            self._changed()

    def allocate(self, size: int, lead: int = 0, *, pages: bool = False) -> int | None:
        """The address of `size` bytes, aligned to 256; None when no free range is large enough.

        With a `lead` it begins so many bytes after an aligned address, and those before it are in no allocation; with
        `pages` it has whole pages to itself.
        """
        unit = PAGE if pages else ALIGN
        room = -(-(max(size + lead, 1) + GAP * pages) // unit) * unit + GAP * (not pages)
        start = self._fit(size, room, lead, unit)
        if start is None and self._waiting:
            self._recycle(0)
            start = self._fit(size, room, lead, unit)
        return start

    def _fit(self, size: int, room: int, lead: int, unit: int) -> int | None:
        for index, (free, length) in enumerate(self._free):
            start = -(-free // unit) * unit
            if free + length >= start + room:
                parts = ((free, start - free), (start + room, free + length - start - room))
                self._free[index : index + 1] = [part for part in parts if part[1]]
                self._add(start + lead, size)
                self._rooms[start + lead] = start, room
                return start + lead
        return None

    def _add(self, start: int, size: int) -> None:
        bisect.insort(self._starts, start)
        self._sizes[start] = size
        self.used += size
        self._changed()

    def free(self, start: int) -> bool:
        """Gives an allocation back; False where there is none at that address."""
        if start not in self._sizes:
            return False
        size = self._sizes.pop(start)
        del self._starts[bisect.bisect_left(self._starts, start)]
        self.used -= size
        self._gone.append((start, size))
        first, room = self._rooms.pop(start)
        if room > self._quarantine:
            self._release(first, room)
        else:
            self._waiting.append((first, room))
            self._held += room
            self._recycle(self._quarantine)
        self._changed()
        return True

    def _recycle(self, most: int) -> None:
        """Lets addresses be given out again, those first that were freed first, until `most` bytes wait."""
        while self._held > most:
            start, room = self._waiting.popleft()
            self._held -= room
            self._release(start, room)

    def freed_at(self, address: int) -> tuple[int, int] | None:
        """Start and size of the allocation that was freed last among those that had the address.

        None without one, and where another has been given some of its room since.
        """
        near = self.nearest(address)
        if near is not None and near.distance == 0 and self.hidden.get(near.start) == FREED:
            return near.start, near.size
        gone = next((g for g in reversed(self._gone) if g[0] <= address < g[0] + max(g[1], 1)), None)
        if gone is None:
            return None
        index = bisect.bisect_left(self._starts, gone[0] + gone[1])
        previous = self._starts[index - 1] if index else 0
        return None if index and previous + self._sizes[previous] > gone[0] else gone

    def live(self) -> list[tuple[int, int]]:
        """Start and size of every allocation."""
        return [(start, self._sizes[start]) for start in self._starts]

    def _changed(self) -> None:
        self.generation += 1
        self._table = None

    def _release(self, start: int, room: int) -> None:
        """Puts a range back into the free list, joined with its neighbours; its pages go back to the system, once
        there are many: a call for each would be half of what freeing takes.
        """
        self._stale += room
        index = bisect.bisect_left(self._free, (start, 0))
        if index < len(self._free) and self._free[index][0] == start + room:
            room += self._free.pop(index)[1]
        if index and sum(self._free[index - 1]) == start:
            previous, length = self._free.pop(index - 1)
            start, room, index = previous, room + length, index - 1
        self._free.insert(index, (start, room))
        if self._stale >= _STALE_KEPT:
            self._give_pages_back()

    def _give_pages_back(self) -> None:
        self._stale = 0
        for start, room in self._free if hasattr(self._memory, "madvise") else ():
            first, end = -(-start // PAGE) * PAGE, (start + room) // PAGE * PAGE
            if room >= _STALE_LEAST and end > first:
                self._memory.madvise(mmap.MADV_DONTNEED, first - self.base, end - first)

    def size_of(self, start: int) -> int | None:
        """The size of the allocation that starts at an address."""
        return self._sizes.get(start)

    def extent(self) -> int:
        """Bytes from the arena's start to behind its last allocation."""
        return self._starts[-1] + self._sizes[self._starts[-1]] - self.base if self._starts else 0

    def holds(self, address: int, size: int) -> bool:
        """True where the bytes lie inside one allocation."""
        near = self.nearest(address)
        return near is not None and near.start <= address and address + size <= near.start + near.size

    def nearest(self, address: int) -> Near | None:
        """The allocation that an address lies in or is closest to."""
        best: Near | None = None
        for start in self._neighbours(address):
            size = self._sizes.get(start)
            if size is None:  # an array that nobody holds any more was freed since
                continue
            distance = address - start if address < start else max(0, address - start - size + 1)
            if best is None or abs(distance) < abs(best.distance):
                best = Near(start, size, distance)
        return best

    def _neighbours(self, address: int) -> list[int]:
        """The allocation at or before an address and the one behind. Anything that allocates may have the garbage
        collector free a module's variables, hundreds of them: then the place that was looked up is another one's.
        """
        while True:
            index = bisect.bisect_right(self._starts, address)
            around = self._starts[max(0, index - 1) : index + 1]
            if bisect.bisect_right(self._starts, address) == index:
                return around

    def table(self) -> np.ndarray[Any, Any]:
        """Live allocations that kernels reach, as machine code searches them; entry 0 is an empty one at address 0."""
        if self._table is None:
            reached = [start for start in self._starts if start not in self.hidden]
            self._table = np.zeros(len(reached) + 1, ALLOCATION.dtype())
            self._table["start"][1:] = reached
            self._table["size"][1:] = [self._sizes[s] for s in reached]
        return self._table

    def view(self, address: int, size: int) -> np.ndarray[Any, Any]:
        """The bytes at an address as an array over the arena itself."""
        return np.frombuffer(self._memory, np.uint8, size, address - self.base)
