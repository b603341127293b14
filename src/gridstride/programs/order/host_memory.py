"""Memory that the host uses by itself, and pages of it that it must not use for now."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from gridstride.programs.failed_calls.program_lines import line_of
from gridstride.virtual.machine.memory.footprint import Spans

_PAGE = 4096
_CALLERS = 16
_OF_DRIVER = re.compile(r"(cu(?!da)[A-Z]\w*?)(?:_v\d)?(?:_pt[sd][sz])?$")
MOST_GUARDED = 512
"""Ranges of pages, as guarded_pages.c has room for."""


class GuardedRange(NamedTuple):
    """Whole pages, and whether the host may read them."""

    start: int
    end: int
    readable: int


class HostMemory(Protocol):
    """What C does for the order."""

    def guard(self, ranges: Sequence[GuardedRange]) -> None:
        """The host's accesses to these pages are told of, and to no others."""
        ...

    def call(self) -> tuple[str, tuple[int, ...]]:
        """The runtime's function that the program is in, and where it returns to; where that is no line of the
        program's own, what called there as well.
        """
        ...


@dataclass(slots=True)
class VisibleMemory:
    """Pinned and managed allocations, by address: each has its pages to itself. `pinned`: those that are."""

    ranges: dict[int, int] = field(default_factory=dict)

    def pages(self, spans: Spans) -> Iterator[tuple[int, int]]:
        """Of such memory the pages that the spans cover, as far as it reaches: of others the rest is the host's."""
        lowest, highest = int(spans.start[0]), int(spans.end[-1])
        for start, nbytes in self.ranges.items():
            end = start + nbytes
            if end <= lowest or highest <= start:
                continue
            inside = (spans.end > start) & (spans.start < end)
            low, high = spans.start[inside].clip(min=start), spans.end[inside].clip(max=end)
            first = np.where(low == start, low, -(-low // _PAGE) * _PAGE)
            behind = np.where(high == end, -(-high // _PAGE) * _PAGE, high // _PAGE * _PAGE)
            covered = first < behind
            yield from _merged(zip(first[covered].tolist(), behind[covered].tolist(), strict=True))

    def holds(self, address: int) -> bool:
        """Whether a byte is such memory's."""
        return any(start <= address < start + nbytes for start, nbytes in self.ranges.items())

    def meets(self, low: int, high: int) -> bool:
        """Whether some of these bytes are."""
        return any(start < high and low < start + nbytes for start, nbytes in self.ranges.items())


def _merged(pairs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ascending ranges, those that touch as one."""
    low = high = -1
    for start, end in pairs:
        if start > high:
            if low >= 0:
                yield low, high
            low, high = start, end
        high = max(high, end)
    if low >= 0:
        yield low, high


def guarded(ranges: Iterable[GuardedRange]) -> list[GuardedRange]:
    """Those that touch as one; what is not to be read comes last, over the others."""
    found = list(ranges)
    made: list[GuardedRange] = []
    for readable in (1, 0):
        pairs = sorted((each.start, each.end) for each in found if each.readable == readable)
        made += [GuardedRange(low, high, readable) for low, high in _merged(pairs)]
    return made[-MOST_GUARDED:]


class RuntimeHost:
    """HostMemory by our libcudart."""

    def __init__(self, runtime: ctypes.CDLL) -> None:
        self._guard, self._call, self._callers = runtime.gs_guard, runtime.gs_current_call, runtime.gs_callers
        self._guard.restype = self._call.restype = None
        self._are_known: dict[int, bool] = {}
        self._guarded: tuple[GuardedRange, ...] = ()

    def guard(self, ranges: Sequence[GuardedRange]) -> None:
        if self._guarded == (given := tuple(ranges)):
            return
        self._guarded = given
        words = (ctypes.c_uint64 * (3 * len(given)))(*(word for each in given for word in each))
        self._guard(words, ctypes.c_int64(len(given)))

    def call(self) -> tuple[str, tuple[int, ...]]:
        name, returns_to = ctypes.c_char_p(), ctypes.c_void_p()
        self._call(ctypes.byref(name), ctypes.byref(returns_to))
        site = returns_to.value or 0
        if site not in self._are_known:
            self._are_known[site] = line_of([site]) is not None
        if self._are_known[site]:
            return (name.value or b"").decode(), (site,)
        words, symbol = (ctypes.c_uint64 * _CALLERS)(), ctypes.c_char_p()
        count = self._callers(words, _CALLERS, ctypes.byref(symbol))
        of_driver = _OF_DRIVER.match((symbol.value or b"").decode())
        return of_driver[1] if of_driver else (name.value or b"").decode(), (site, *words[:count])
