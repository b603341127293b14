"""Which operations come before which: by streams, events, graphs and the host's waiting, and not by how long they take.

A clock for each stream, as in a race detector: an operation knows up to which of every stream's operations all have
ended when it begins. Two that touch the same bytes, one of them writing, and do not know of each other may run in
either order on hardware. Nodes of one graph are taken to be in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gridstride.programs.timeline.schedule import Operation

_OPEN = 256
"""Operations that a new one is compared with, at most."""
_KEPT = 5
"""Pairs that are told of; the others are counted."""


class Touch(NamedTuple):
    """Bytes that an operation uses, from `start` to before `end`, of the device's memory or the host's."""

    start: int
    end: int
    writes: bool


class Order:
    """What comes before what, and pairs that nothing orders."""

    def __init__(self) -> None:
        self.count = 0
        self.pairs: list[tuple[Operation, Operation, int]] = []
        """The first pairs, with the number of bytes that both touch."""
        self._numbers: dict[int, int] = {}
        self._host: dict[int, int] = {}
        self._open: list[Operation] = []

    def add(self, operation: Operation, predecessors: Iterable[Operation]) -> None:
        """One operation more, behind those before it and all that the host has waited for."""
        reached = dict(self._host)
        for earlier in predecessors:
            _join(reached, earlier)
        self._numbers[operation.stream] = reached[operation.stream] = self._numbers.get(operation.stream, 0) + 1
        operation.after = reached
        if not operation.touches:
            return
        for other in self._open:
            if not _knows(reached, other) and other.stream != operation.stream:
                self._compare(other, operation)
        self._open = [*self._open[-_OPEN + 1 :], operation]

    def host_waited(self, operations: Iterable[Operation]) -> None:
        """What is given from now on comes after these."""
        for operation in operations:
            _join(self._host, operation)
        self._open = [item for item in self._open if not _knows(self._host, item)]

    def given_anew(self, start: int, end: int) -> None:
        """Memory is given to somebody: what used these bytes has ended, or the pool puts what comes behind it."""
        for item in self._open:
            if any(touch.start < end and start < touch.end for touch in item.touches):
                item.touches = [touch for touch in item.touches if touch.start >= end or start >= touch.end]

    def _compare(self, first: Operation, second: Operation) -> None:
        for a, b in _touch_pairs(first.touches, second.touches):
            start, end = max(a.start, b.start), min(a.end, b.end)
            if start < end and (a.writes or b.writes):
                self.count += 1
                if len(self.pairs) < _KEPT:
                    self.pairs.append((first, second, end - start))
                return


def _touch_pairs(firsts: Sequence[Touch], seconds: Sequence[Touch]) -> Iterable[tuple[Touch, Touch]]:
    return ((first, second) for first in firsts for second in seconds)


def _join(reached: dict[int, int], operation: Operation) -> None:
    for stream, number in operation.after.items():
        reached[stream] = max(reached.get(stream, 0), number)


def _knows(reached: dict[int, int], operation: Operation) -> bool:
    return reached.get(operation.stream, 0) >= operation.after[operation.stream]
