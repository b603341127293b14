"""Who may join the running sequences: continuous batching, and the two baselines it is measured against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gridstride.serve.engine.request import Request


class Policy(Protocol):
    def admits(self, running: Sequence[Request], waiting: Sequence[Request], most: int) -> bool:
        """Whether the first of `waiting` may start; at most `most` run at a time."""
        ...


class Continuous:
    """A sequence starts as soon as there is room."""

    def admits(self, running: Sequence[Request], waiting: Sequence[Request], most: int) -> bool:
        return len(running) < most


class Fifo:
    """One request at a time."""

    def admits(self, running: Sequence[Request], waiting: Sequence[Request], most: int) -> bool:
        return not running


class Static:
    """A batch of those that wait runs until all of it has ended; only then the next batch starts."""

    def __init__(self) -> None:
        self._last = -1  # serial of the batch's last member

    def admits(self, running: Sequence[Request], waiting: Sequence[Request], most: int) -> bool:
        if not running and waiting[0].serial > self._last:
            self._last = waiting[min(most, len(waiting)) - 1].serial
        return waiting[0].serial <= self._last


POLICIES: dict[str, type[Policy]] = {"continuous": Continuous, "fifo": Fifo, "static": Static}
