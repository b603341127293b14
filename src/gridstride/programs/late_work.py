"""A device that is as late as CUDA allows: what is given to it is done when the host waits for it, and not before.

Kernels and copies to pinned memory are put off, in the order in which they were given; a wait does all of them up to
the last one that it covers. Whatever else needs their results does them all, which is never wrong: a device may be
fast. So are the kernels of a graph, whose conditions are looked at between them.
"""

from __future__ import annotations

import ctypes
import threading
from collections import defaultdict, deque
from collections.abc import Callable

from gridstride.programs.timeline.calls import NON_BLOCKING, WAITED_DEVICE, WAITED_EVENT, WAITED_FREE, WAITED_STREAM
from gridstride.programs.timeline.model import TO_HOST

MODELS_LATE = 2
"""As runtime.h has it."""
_DEFAULTS = 1 << 12
"""Default streams have numbers below this, others are addresses (gs_stream_number)."""


class LateWork:
    """What is not yet done. Its methods are told of the calls of `Board` by their names, before they are made."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._queue: deque[Callable[[], object]] = deque()
        self._done = 0
        self._in_graph = False
        self._reach: defaultdict[int, int] = defaultdict(int)
        """Of each stream, how many works had been given by its last one, or by one that it follows."""
        self._events: dict[int, int] = {}
        self._apart: set[int] = set()
        """Streams that the default one does not wait for."""

    def put_off(self, stream: int, work: Callable[[], object]) -> None:
        """Work of a stream; within a graph it is done at once."""
        if self._in_graph:
            work()
            return
        with self._lock:
            self._queue.append(work)
            self._reach[stream] = self._done + len(self._queue)

    def _until(self, reach: int) -> None:
        with self._lock:  # while work is done, too: another thread of the program's waits for it as well
            while self._done < reach and self._queue:
                self._done += 1
                self._queue.popleft()()

    def _all(self, *_: object) -> None:
        self._until(self._done + len(self._queue))

    fill = host_function = release = pooled = destroy_pool = trim_pool = _all

    def begin_graph(self, *_: object) -> None:
        self._all()
        self._in_graph = True

    def end_graph(self) -> None:
        self._in_graph = False

    def _reached(self, stream: int) -> int:
        """The default stream comes after all others but those that are kept apart from it."""
        if stream >= _DEFAULTS:
            return self._reach[stream]
        return max((reach for each, reach in self._reach.items() if each not in self._apart), default=0)

    def add_stream(self, stream: int, flags: int, *_: int) -> None:
        self._reach[stream] = 0  # its address may have been another's
        (self._apart.add if flags & NON_BLOCKING else self._apart.discard)(stream)

    def record(self, event: int, stream: int) -> None:
        self._events[event] = self._reached(stream)

    def follow(self, stream: int, event: int) -> None:
        self._reach[stream] = max(self._reach[stream], self._events.get(event, 0))

    def waited(self, what: int, number: int) -> None:
        """The host waits; asking whether something is done counts as waiting, for somebody may ask until it is."""
        if what == WAITED_STREAM:
            self._until(self._reached(number))
        elif what == WAITED_EVENT:
            self._until(self._events.get(number, 0))
        elif what in (WAITED_DEVICE, WAITED_FREE):
            self._all()

    def copy(
        self, nbytes: int, kind: int, stream: int, pageable: int, waits: int, to: int, origin: int, *_: int
    ) -> None:  # fmt: skip
        """The caller copies what is there now; to pinned memory it is copied again when its turn has come."""
        if waits:
            self._until(self._reached(stream))
        elif kind == TO_HOST and not pageable and to and origin:
            self.put_off(stream, lambda: ctypes.memmove(to, origin, nbytes))
        else:
            self._all()
