"""When operations run: each after those it depends on, and when its engine has room for it.

Each GPU has engines of its own. Compute: kernels run side by side as long as no resource of the chip is asked for more
than once over; none of them slows another down. The other engines do one operation after the other; a copy to another
GPU takes the way out of one and the way into the other. Whoever can begin first goes first, as each
stream has a queue of its own in hardware; of those that can begin at one time the higher priority, then the one that
was given first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import NamedTuple

from gridstride.programs.timeline.order import Touch

_FULL = 1 + 1e-9


class Engine(StrEnum):
    """What does the work."""

    COMPUTE = "compute"
    TO_DEVICE = "to device"
    TO_HOST = "to host"
    TO_PEER = "to peer"
    HOST = "host functions"
    NONE = "none"
    """Nothing is done: an event, or a stream that waits for one."""


class Way(NamedTuple):
    """What one operation at a time uses: one direction of a GPU's link, or its functions of the host."""

    device: int
    name: str


@dataclass(slots=True, eq=False)
class Operation:
    """One piece of a stream's work. `given_us` is when the device knows of it, `us` how long it takes; `demand` is its
    share of each resource while it runs (compute only), `priority` the stream's: lower goes first.
    """

    number: int
    kind: str
    name: str
    stream: int
    engine: Engine
    given_us: float
    us: float = 0.0
    nbytes: int = 0
    demand: Mapping[str, float] = field(default_factory=dict)
    priority: int = 0
    graph: int = 0
    """Which launch of a graph it belongs to, from 1 on; 0 for none."""
    device: int = 0
    """The GPU whose engine does it; of a copy to another GPU the one that it comes from."""
    ways: Sequence[Way] = ()
    """What it has to itself while it runs."""
    crossing: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """Bytes that it sends from one GPU to another."""
    start_us: float = inf
    awaited: int = 0
    """How many operations it depends on that have no place yet."""
    followers: list[Operation] = field(default_factory=list)
    touches: Sequence[Touch] = ()
    after: Mapping[int, int] = field(default_factory=dict)
    """Of each stream, up to which of its operations all come before this one; its own among them."""

    @property
    def end_us(self) -> float:
        """Infinite as long as it has no place."""
        return self.start_us + self.us


class Schedule:
    """Gives operations their place in time, as late as somebody asks: what is given later may go first."""

    def __init__(self) -> None:
        self.placed: list[Operation] = []
        """By the time they start."""
        self._ready: list[Operation] = []
        self._running: dict[int, list[Operation]] = {}  # on the compute engine of each GPU
        self._latest_us: dict[int, float] = {}  # when the last kernel of each GPU's began
        self._free_us: dict[Way, float] = {}

    def add(self, operation: Operation, predecessors: Iterable[Operation]) -> None:
        """One operation more, which begins when those before it have ended."""
        for earlier in predecessors:
            if earlier.start_us == inf:
                earlier.followers.append(operation)
                operation.awaited += 1
            else:
                operation.given_us = max(operation.given_us, earlier.end_us)
        if not operation.awaited:
            self._ready.append(operation)

    def place(self, *, until: Operation | None = None, until_us: float = inf) -> None:
        """Place what begins up to a time, or all that begins before `until` does, and that.

        Right as long as nothing is given later that could begin before: the host waits for `until`, or its clock is
        at `until_us`.
        """
        while self._ready and (until is None or until.start_us == inf):
            start, _, _, _, operation = min(
                (self._start(operation), operation.priority, operation.given_us, operation.number, operation)
                for operation in self._ready
            )
            if start > until_us:
                return
            self._ready.remove(operation)
            self._begin(operation, start)

    def _start(self, operation: Operation) -> float:
        """When it could begin, if nothing else was placed before it."""
        if operation.engine is Engine.NONE:
            return operation.given_us
        if operation.engine is not Engine.COMPUTE:
            return max(operation.given_us, *(self._free_us.get(way, 0.0) for way in operation.ways))
        running = self._running.get(operation.device, ())
        # What would have fitted before the last one began has been placed: those that ended by then are forgotten.
        earliest = max(operation.given_us, self._latest_us.get(operation.device, 0.0))
        times = [earliest, *(operation.end_us for operation in running if operation.end_us > earliest)]
        return next(time for time in sorted(times) if self._fits(operation, time))

    def _fits(self, operation: Operation, time: float) -> bool:
        demands = [operation.demand for operation in self._running.get(operation.device, ()) if operation.end_us > time]
        return not demands or all(
            share + sum(demand.get(name, 0.0) for demand in demands) <= _FULL
            for name, share in operation.demand.items()
        )  # fmt: skip

    def _begin(self, operation: Operation, start: float) -> None:
        operation.start_us = start
        self.placed.append(operation)
        if operation.engine is Engine.COMPUTE:
            running = self._running.get(operation.device, ())
            self._running[operation.device] = [
                *(operation for operation in running if operation.end_us > start),
                operation,
            ]
            self._latest_us[operation.device] = start
        for way in operation.ways:
            self._free_us[way] = operation.end_us
        for follower in operation.followers:
            follower.given_us = max(follower.given_us, operation.end_us)
            follower.awaited -= 1
            if not follower.awaited:
                self._ready.append(follower)
        operation.followers.clear()
