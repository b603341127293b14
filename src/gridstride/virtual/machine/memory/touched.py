"""What observed launches touched: a byte for each sector of global memory, and each worker's picture of L1."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.virtual.abi.access_counters import PAGE_SHIFT
from gridstride.virtual.abi.access_counters import WAYS as L1_WAYS
from gridstride.virtual.machine.memory.addresses import reserve
from gridstride.virtual.machine.memory.arena import Arena

SECTOR = 32
PAGE = 1 << PAGE_SHIFT
WAYS = ("read", "write", "atomic")

KEPT_PAGES = 1 << 13
"""Pages of a map that are cleared and kept; those of a launch that touches more go back to the system."""


@dataclass(frozen=True, slots=True)
class SectorSpan:
    """What a launch touched from `cut` on, in whole sectors of one allocation: the `first` byte, the `end` behind the
    last one, and how many `nbytes` the sectors have that were touched. `way` is one of WAYS; an atomic is in all three.
    """

    cut: int
    first: int
    end: int
    way: str
    nbytes: int


class Map:
    """A byte for each sector, then one for each page of sectors: 1 once touched, so that few pages are looked at."""

    def __init__(self, sectors: int) -> None:
        self._memory, self.base = reserve(sectors + (sectors >> PAGE_SHIFT) + 1)
        self._sectors, self._pages = (np.frombuffer(self._memory, np.uint8, *part) for part in (
            (sectors, 0), ((sectors >> PAGE_SHIFT) + 1, sectors)))  # fmt: skip

    def pages(self, end: int) -> np.ndarray[Any, Any]:
        """Numbers of the touched pages among the first sectors, up to `end`."""
        return np.flatnonzero(self._pages[: (end >> PAGE_SHIFT) + 1])

    def count(self, first: int, last: int, pages: np.ndarray[Any, Any]) -> int:
        """How many of the sectors from `first` to `last` were touched."""
        low, high = np.searchsorted(pages, (first >> PAGE_SHIFT, (last >> PAGE_SHIFT) + 1))
        total = 0
        for page in pages[low:high].tolist():
            start, end = max(first, page << PAGE_SHIFT), min(last + 1, page + 1 << PAGE_SHIFT)
            total += int(np.count_nonzero(self._sectors[start:end].view(np.bool_)))
        return total

    def touched(self, page: int) -> np.ndarray[Any, Any]:
        """Of each sector of a page, whether it was touched."""
        return self._sectors[page << PAGE_SHIFT : page + 1 << PAGE_SHIFT].view(np.bool_)

    def hull(self, first: int, last: int) -> tuple[int, int] | None:
        """The first and the last of these sectors that was touched."""
        touched = np.flatnonzero(self._sectors[first : last + 1])
        return (first + int(touched[0]), first + int(touched[-1])) if len(touched) else None

    def clear(self, pages: np.ndarray[Any, Any]) -> None:
        """Nothing is touched any more."""
        if len(pages) > KEPT_PAGES and hasattr(mmap, "MADV_DONTNEED"):
            self._memory.madvise(mmap.MADV_DONTNEED)
            return
        for page in pages.tolist():
            self._sectors[page << PAGE_SHIFT : page + 1 << PAGE_SHIFT] = 0
        self._pages[pages] = 0


class Touched:
    """A device's maps, one for each of WAYS; they take room only where launches go."""

    def __init__(self, arena: Arena) -> None:
        self._arena, self._low = arena, arena.base // SECTOR
        self._size = -(-(arena.size // SECTOR + 1) // PAGE) * PAGE
        self._maps: list[Map] = []
        self._clear = False
        self.bytes = 0
        """Of global memory, at most, that the last launch touched: read, written and changed added up."""
        self.cuts: list[int] = []
        """Ascending addresses: where there are any, `spans` says what the next launch touches from each to the next."""
        self.spans: list[SectorSpan] = []

    def open(self) -> None:
        """Makes the maps ready for a launch."""
        if not self._clear:
            self._maps, self._clear = [Map(self._size) for _ in WAYS], True

    def attach(self, worker: Any, lines: int) -> np.ndarray[Any, Any]:
        """Gives a worker the maps, and an L1 of so many lines, which is to be kept."""
        cache = np.zeros(max(lines // L1_WAYS, 1) * L1_WAYS, np.uint64)
        worker["cache"], worker["cache_sets"] = cache.ctypes.data, len(cache) // L1_WAYS
        for way, map_ in zip(WAYS, self._maps, strict=True):
            worker[f"{way}_map"] = map_.base
        worker["map_low"], worker["map_size"] = self._low, self._size
        return cache

    def pages(self) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
        """Before `take`: the address of each page of sectors that the launch touched, and which of them it read."""
        last = -(-self._arena.extent() // SECTOR)
        for page in sorted({number for map_ in self._maps for number in map_.pages(last).tolist()}):
            yield (self._low + (page << PAGE_SHIFT)) * SECTOR, self._maps[0].touched(page)

    def take(self, scale: float, *, stopped: bool) -> tuple[int, ...]:
        """(read, written, changed by atomics): bytes of the sectors that were touched, times `scale` where only some of
        the blocks were watched, but no more of an allocation than it has. The maps are clear then, unless the launch
        was `stopped` by a fault: it may have touched anything.
        """
        self._clear, self.bytes = not stopped, 0
        self.spans = [
            span for way, map_ in zip(WAYS, self._maps, strict=True) for span in self._spans(way, map_, scale)
        ]
        self.cuts = []
        return tuple(self._of(map_, scale) for map_ in self._maps)

    def _spans(self, way: str, map_: Map, scale: float) -> Iterator[SectorSpan]:
        """From the first to the last sector that was touched between each cut and the next, in the cut's allocation."""
        if not self.cuts:
            return
        pages = map_.pages(-(-self._arena.extent() // SECTOR))
        ends = {
            int(range_["start"]): int(range_["start"] + range_["size"])
            for range_ in self._arena.table()
            if range_["size"]
        }
        for number, cut in enumerate(self.cuts):
            start = max((end for end in ends if end <= cut), default=cut)
            end = min([ends.get(start, cut), *self.cuts[number + 1 : number + 2]])
            first, last = cut // SECTOR - self._low, (end - 1) // SECTOR - self._low
            if cut < end and (hull := map_.hull(first, last)):
                sectors = min(round(map_.count(first, last, pages) * scale), last - first + 1)
                low, high = (hull[0] + self._low) * SECTOR, (hull[1] + self._low + 1) * SECTOR
                yield SectorSpan(cut, low, min(end, high), way, sectors * SECTOR)

    def _of(self, map_: Map, scale: float) -> int:
        pages, total = map_.pages(-(-self._arena.extent() // SECTOR)), 0
        if len(pages):
            self.bytes += len(pages) * PAGE * SECTOR
            for first, last in self._on(pages):
                total += min(round(map_.count(first, last, pages) * scale), last - first + 1) * SECTOR
            map_.clear(pages)
        return total

    def _on(self, pages: np.ndarray[Any, Any]) -> Iterator[tuple[int, int]]:
        """First and last sector of each allocation that lies on these pages: modules have thousands of variables."""
        table = self._arena.table()
        start, size = (table[name][table["size"] > 0].astype(np.int64) for name in ("start", "size"))
        first, last = start // SECTOR - self._low, (start + size - 1) // SECTOR - self._low
        on = np.searchsorted(pages, first >> PAGE_SHIFT) < np.searchsorted(pages, (last >> PAGE_SHIFT) + 1)
        return zip(first[on].tolist(), last[on].tolist(), strict=True)
