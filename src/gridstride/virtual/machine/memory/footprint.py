"""Which bytes a watched launch used, and how: exactly, by the race detector's shadow, unit by unit.

Textures are read past the shadow: of those whole sectors are known. What one launch wrote and read of the same bytes is
in both; the last access of each kind to a unit stands for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.virtual.abi.race_shadows import ATOMIC_BIT, NON_COHERENT, SITE_BIT, STRENGTH_BIT, STRONG
from gridstride.virtual.machine.memory.touched import SECTOR

if TYPE_CHECKING:
    from gridstride.virtual.machine.memory.shadow import Shadow
    from gridstride.virtual.machine.memory.touched import Touched
    from gridstride.virtual.machine.variant import KernelSite

Array = np.ndarray[Any, Any]
_SITES = (1 << 32 - SITE_BIT) - 1
NOWHERE = -1
"""Instead of a site, of what is not known by instruction."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Bytes, ascending and apart: from `start` to before `end`, the first used by the instruction of the `site`."""

    start: Array
    end: Array
    site: Array

    @staticmethod
    def none() -> Spans:
        empty = np.zeros(0, np.int64)
        return Spans(empty, empty, empty)

    @staticmethod
    def of(start: int, nbytes: int) -> Spans:
        """A single one."""
        return Spans(np.array([start]), np.array([start + nbytes]), np.array([NOWHERE]))

    @staticmethod
    def rows(start: int, width: int, pitch: int, rows: int) -> Spans:
        """Of rows that lie `pitch` bytes apart."""
        starts = start + pitch * np.arange(rows, dtype=np.int64)
        return Spans(starts, starts + width, np.full(rows, NOWHERE))

    def __len__(self) -> int:
        return len(self.start)

    def overlap(self, other: Spans) -> tuple[int, int, int, int] | None:
        """The first byte that both have, how many in all, and the site of each side there; None for none."""
        if not len(self) or not len(other) or self.end[-1] <= other.start[0] or other.end[-1] <= self.start[0]:
            return None
        low = np.searchsorted(other.end, self.start, "right")  # the first of the other's that ends behind each
        high = np.searchsorted(other.start, self.end, "left")
        meets = np.flatnonzero(high > low)
        if not meets.size:
            return None
        mine, theirs = int(meets[0]), int(low[meets[0]])
        total = sum(
            int(np.minimum(self.end[i], other.end[low[i] : high[i]]).sum()
                - np.maximum(self.start[i], other.start[low[i] : high[i]]).sum())
            for i in meets[:_COUNTED].tolist()
        )  # fmt: skip
        first = max(int(self.start[mine]), int(other.start[theirs]))
        return first, total, int(self.site[mine]), int(other.site[theirs])

    def without(self, start: int, end: int) -> Spans:
        """Those that do not meet these bytes."""
        if not len(self) or self.end[-1] <= start or end <= self.start[0]:
            return self
        keep = (self.start >= end) | (self.end <= start)
        return self if keep.all() else Spans(self.start[keep], self.end[keep], self.site[keep])


_COUNTED = 1 << 14
"""Spans whose common bytes are added up; it is only for a message."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a launch read and wrote: strongly by atomics, and by accesses that are made for memory that others change
    meanwhile. `sites`: the code's instructions by number.
    """

    read: Spans
    strongly_read: Spans
    written: Spans
    strongly_written: Spans
    sites: Sequence[KernelSite]


def footprint(touched: Touched, shadow: Shadow, sites: Sequence[KernelSite]) -> Footprint:
    """Of the launch that has just ended: before both are made ready for the next."""
    parts: dict[str, list[tuple[Array, Array, Array]]] = {name: [] for name in ("rp", "rs", "wp", "ws")}
    for address, sectors in touched.pages():
        nbytes = len(sectors) * SECTOR
        written, unit = shadow.entries("written", address, nbytes)
        read, _ = shadow.entries("read", address, nbytes)
        for letter, entries in (("w", written), ("r", read)):
            if not entries.size:
                continue
            strength = entries >> np.uint64(STRENGTH_BIT) & np.uint64(3)
            strong = strength >= STRONG if letter == "w" else (strength >= STRONG) & (strength != NON_COHERENT)
            strong |= (entries >> np.uint64(ATOMIC_BIT) & np.uint64(1)) != 0
            there = entries != 0
            for kind, which in (("p", there & ~strong), ("s", there & strong)):
                parts[letter + kind].append(_runs(address, unit, entries, which))
        parts["rp"].append(_fetched(address, sectors, (written, read)))
    made = {name: _joined(pieces) for name, pieces in parts.items()}
    return Footprint(made["rp"], made["rs"], made["wp"], made["ws"], sites)


def _fetched(address: int, sectors: Array, planes: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """Sectors that were read and of which the shadow knows nothing."""
    unknown = sectors.copy()
    for entries in planes:
        if entries.size:
            unknown &= ~(entries.reshape(len(sectors), -1) != 0).any(axis=1)
    return _runs(address, SECTOR, np.full(len(sectors), _SITES << SITE_BIT, np.uint64), unknown)


def _runs(address: int, unit: int, entries: Array, which: Array) -> tuple[Array, Array, Array]:
    """Start, end and first site of each run of units."""
    edges = np.flatnonzero(np.diff(which.astype(np.int8), prepend=0, append=0))
    first, behind = edges[::2], edges[1::2]
    sites = (entries[first] >> np.uint64(SITE_BIT)).astype(np.int64) & _SITES
    return address + first * unit, address + behind * unit, np.where(sites == _SITES, NOWHERE, sites)


def _joined(pieces: list[tuple[Array, Array, Array]]) -> Spans:
    """Of all pages; runs that go on from page to page are one."""
    pieces = [piece for piece in pieces if len(piece[0])]
    if not pieces:
        return Spans.none()
    start, end, site = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    order = np.argsort(start, kind="stable")
    start, end, site = start[order], end[order], site[order]
    begins = np.concatenate([[True], start[1:] > end[:-1]])
    heads = np.flatnonzero(begins)
    return Spans(start[heads], np.maximum.reduceat(end, heads), site[heads])
