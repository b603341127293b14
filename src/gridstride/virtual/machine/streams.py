"""Streams, events and recorded work of the virtual GPU, whose work is done when the call that gives it returns."""

from __future__ import annotations

import time
from collections.abc import Callable

from gridstride.protocol import DeviceError, Event, Stream

PRIORITIES = (0, -5)
"""The least and the greatest priority of a stream, which cuCtxGetStreamPriorityRange gives on an H200."""


class VirtualStream:
    """A queue that is always empty: nothing ever waits in it."""

    __slots__ = ("handle",)

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def synchronize(self) -> None:
        """Returns at once."""

    @property
    def done(self) -> bool:
        return True

    def wait(self, event: Event) -> None:
        """Returns at once: the event's work is done."""


class VirtualEvent:
    """A moment of the host's clock: virtual time is not GPU time, and no verdict uses it."""

    def __init__(self) -> None:
        self._at: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Marks now."""
        self._at = time.perf_counter()

    def synchronize(self) -> None:
        """Returns at once."""

    @property
    def done(self) -> bool:
        return True

    def elapsed_ms(self, start: Event) -> float:
        """Milliseconds on the host's clock from `start` to this event."""
        if not isinstance(start, VirtualEvent) or self._at is None or start._at is None:
            raise DeviceError("elapsed_ms of an event that was never recorded")
        return 1e3 * (self._at - start._at)


class VirtualRecording:
    """Launches and copies to be done again, one after the other."""

    def __init__(self) -> None:
        self._work: list[Callable[[], None]] = []

    def add(self, work: Callable[[], None]) -> None:
        """Keeps it for later."""
        self._work.append(work)

    def end(self) -> None:
        """There is nothing to make of it."""

    def give_up(self) -> None:
        """Forgets the work."""
        self._work.clear()

    def launch(self, stream: Stream | None) -> None:
        """Does all of it; a fault ends it there."""
        for work in self._work:
            work()
