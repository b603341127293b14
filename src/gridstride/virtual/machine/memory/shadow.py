"""The race detector's shadow of global memory: reserved beside the arena, taken page by page as kernels touch it."""

from __future__ import annotations

import contextlib
import mmap
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gridstride.protocol import OutOfAddressSpace, RacesNotWatched
from gridstride.virtual.abi.finding_records import PAIR, PAIRS
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import EVENT, SHADOW, SHADOW_PLANES
from gridstride.virtual.machine.memory.addresses import affordable, reserve
from gridstride.virtual.machine.memory.arena import Arena, host_memory

ENTRY = 8
"""Bytes that a plane has for each unit."""

EVENTS, LEAST_EVENTS = 1 << 26, 1 << 22
"""Events of one launch that are told apart, and how few there may be where addresses are short; what happens under
later stamps is taken to be in order.
"""

KEPT = 64 << 20
"""Bytes of a plane, and of the events, that may stay taken between launches."""

WRAP = 1 << 30
"""Stamps after which the shadow starts anew: it leaves a launch three times as many."""

_FEW_UNITS = 4

GRANULE = 1 << 26
"""The shadow grows in steps of this many bytes of global memory."""


class Shadow:
    """One for each device. `pairs` counts the races of the last launch by pair of sites."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._record = np.zeros(1, SHADOW.dtype())
        self._planes: list[mmap.mmap] = []
        self._events: mmap.mmap | None = None
        self._covered = (0, 0)
        self._fitted = (0, 0)
        self._held = 0.0
        self.pairs: np.ndarray[Any, Any] = np.zeros(PAIRS, PAIR.dtype())
        self._record["clock"], self._record["pairs"] = 2, self.pairs.ctypes.data

    @property
    def address(self) -> int:
        """Where the machine code finds the record."""
        return self._record.ctypes.data

    def open(self, unit: int) -> int:
        """Makes the shadow ready for a launch of a kernel whose smallest access has `unit` bytes; its address."""
        record = self._record[0]
        if record["clock"] > WRAP:
            self._drop()
            record["clock"] = 2
        record["base"], record["shift"] = record["clock"], unit.bit_length() - 1
        record["start"] = self._arena.base
        self.pairs[:] = 0
        try:
            if self._fits(unit):
                self._cover(max(1, self._arena.extent()), unit)
            else:
                self._drop()
        except OutOfAddressSpace as error:
            self._drop()
            _warn(str(error))
        return self.address

    def close(self, touched: int) -> None:
        """After a launch that touched so many bytes of global memory: large shadows go back to the system."""
        if self._events is None:
            return
        if int(self._record["clock"][0] - self._record["base"][0]) * EVENT.size > KEPT:
            self._events.madvise(mmap.MADV_DONTNEED)
        units = ENTRY / max(1, self._covered[1])
        self._held = min(self._held + touched * units, self._arena.used * units)
        if self._held > KEPT:
            self._held = 0.0
            for plane in self._planes:
                plane.madvise(mmap.MADV_DONTNEED)

    def entries(self, plane: str, address: int, nbytes: int) -> tuple[np.ndarray[Any, Any], int]:
        """Of the units from an address on the last launch's entries in a plane, 0 where it has none, and the bytes of a
        unit; no entries where there is no shadow. The address and the bytes are multiples of a unit.
        """
        record = self._record[0]
        shift, start, units = int(record["shift"]), int(record["start"]), int(record["units"])
        if not self._planes:
            return np.zeros(0, np.uint64), 1 << shift
        first, count = address - start >> shift, nbytes >> shift
        found = np.zeros(count, np.uint64)
        low, high = max(0, first), min(first + count, units)
        if low < high:
            known = np.frombuffer(self._planes[SHADOW_PLANES.index(plane)], np.uint64, high - low, low * ENTRY)
            found[low - first : high - first] = np.where(known < int(record["base"]) << 32, np.uint64(0), known)
        return found, 1 << shift

    def written(self, address: int, nbytes: int) -> np.ndarray[Any, Any]:
        """The last write of the last launch to each unit that holds some of these bytes: its entry, 0 for none. Where
        there was no write at all there are no entries.
        """
        record = self._record[0]
        shift, start = int(record["shift"]), int(record["start"])
        if not self._planes or not nbytes:
            return np.zeros(0, np.uint64)
        first, end = (address - start) >> shift, min((address + nbytes - 1 - start >> shift) + 1, int(record["units"]))
        plane = self._planes[SHADOW_PLANES.index("written")]
        entries, least = np.frombuffer(plane, np.uint64, max(0, end - first), first * ENTRY), int(record["base"]) << 32
        if not entries.size or int(entries.max()) < least:  # in most launches of most arrays: nothing is copied
            return np.zeros(0, np.uint64)
        return np.where(entries < least, np.uint64(0), entries)

    def end_of_writes(self, address: int, nbytes: int) -> int:
        """Of these bytes the number up to the last unit that the last launch wrote; 0 where it wrote none."""
        units = np.flatnonzero(self.written(address, nbytes))
        return min(nbytes, self.unit_address(address, int(units[-1]) + 1) - address) if len(units) else 0

    def ends_of_writes(self, ranges: Sequence[tuple[int, int]]) -> list[int]:
        """`end_of_writes` of each address and its bytes. A module that includes CUB has a thousand variables of a few
        bytes, which nothing writes: those are told apart in one step.
        """
        record = self._record[0]
        if not self._planes or not ranges:
            return [0] * len(ranges)
        shift, offsets = int(record["shift"]), np.array(ranges, np.int64) - (int(record["start"]), 0)
        first, last = offsets[:, 0] >> shift, offsets.sum(axis=1) - 1 >> shift
        at = np.minimum(first[:, None] + np.arange(_FEW_UNITS), np.minimum(last, int(record["units"]) - 1)[:, None])
        entries = np.frombuffer(self._planes[SHADOW_PLANES.index("written")], np.uint64)[at]
        may_be = (entries >= int(record["base"]) << 32).any(axis=1) | (last - first >= _FEW_UNITS)
        return [self.end_of_writes(*span) if may else 0 for span, may in zip(ranges, may_be.tolist(), strict=True)]

    def unit_address(self, address: int, number: int) -> int:
        """Where the unit begins that comes so many after the one that holds an address."""
        shift, start = int(self._record["shift"][0]), int(self._record["start"][0])
        return start + ((address - start >> shift) + number << shift)

    def who(self, entry: int) -> tuple[int, int] | None:
        """Block and warp of an entry of the last launch; None where it had more events than are kept."""
        record = self._record[0]
        index = (entry >> 32) - int(record["base"])
        if self._events is None or index >= int(record["event_limit"]):
            return None
        who = int(np.frombuffer(self._events, EVENT.dtype(), 1, index * EVENT.size)["who"][0])
        return who >> 5, who & LANES - 1

    def _fits(self, unit: int) -> bool:
        """Whether this machine has room for the shadow of all that is allocated; if not, the user is told."""
        if self._planes and self._fitted == (self._arena.used, unit):
            return True  # asking the system takes longer than many a launch
        need, have = self._arena.used * ENTRY * len(SHADOW_PLANES) // unit, available_memory() * 3 // 4
        if need > have:
            _warn(f"{need >> 20} MiB might be needed, {have >> 20} MiB can be had; allocate less on the device")
        self._fitted = (self._arena.used, unit)
        return need <= have

    def _cover(self, extent: int, unit: int) -> None:
        """Planes for so many bytes from the arena's start; old entries may stay: their stamps are of old launches."""
        if self._events is None:
            events = affordable(EVENTS * EVENT.size, least=LEAST_EVENTS * EVENT.size) // EVENT.size
            self._events, self._record["events"] = reserve(events * EVENT.size)
            self._record["event_limit"] = events
        covered, finest = self._covered
        if not (extent <= covered and finest and finest <= unit):
            covered, finest = -(-max(extent, covered) // GRANULE) * GRANULE, min(unit, finest or unit)
            self._drop()
            size = covered // finest * ENTRY
            for name in SHADOW_PLANES:
                memory, self._record[name] = reserve(size)
                self._planes.append(memory)
                if hasattr(mmap, "MADV_HUGEPAGE") and self._arena.used > GRANULE:
                    with contextlib.suppress(OSError):
                        memory.madvise(mmap.MADV_HUGEPAGE)
            self._covered = (covered, finest)
        self._record["units"] = covered // unit

    def _drop(self) -> None:
        self._planes, self._covered = [], (0, 0)
        for name in SHADOW_PLANES:
            self._record[name] = 0


def _warn(why: str) -> None:
    warnings.warn(RacesNotWatched(f"races in global memory are not looked for in this launch: {why}"), stacklevel=2)


def available_memory() -> int:
    """Bytes that this process may still take, as Linux tells it; elsewhere all that the machine has."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return min(int(line.split()[1]) << 10, _limit_of_group())
    return host_memory()


def _limit_of_group() -> int:
    """What a container may take; all of the machine's memory where nothing is said."""
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            return int(Path(file).read_text())
    return host_memory()
