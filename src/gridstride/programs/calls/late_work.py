"""A device that is as late as CUDA allows: what is given to it is done when the host waits for it, and not before.

A wait does what it covers and what that needs: streams in their order, events, the default stream between those that
wait for it. Of works that nothing orders the one given last is done first. So a result that no wait covers is not
there, and work of one stream that needs another's and was never told to wait for it comes too early.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from gridstride.programs.timeline.calls import NON_BLOCKING, WAITED_EVENT, WAITED_STREAM

MODELS_LATE = 2
"""As runtime.h has it."""
_DEFAULTS = 1 << 12
"""Default streams have numbers below this, others are addresses (gs_stream_number)."""


@dataclass(slots=True, eq=False)
class _Work:
    number: int
    run: Callable[[], object] | None
    """None once it is done."""
    after: list[_Work] = field(default_factory=list)
    waits_for_all: bool = False
    """Whether it is in no stream: no wait of the host's is for it."""
    ended_ms: float = math.nan


@dataclass(slots=True)
class _Stream:
    device: int
    apart: bool = False
    """Whether the default stream does not wait for it, nor it for that one."""
    last: _Work | None = None


class LateWork:
    """What is not yet done. Its other methods are the calls of TIMELINE_CALLBACKS, as C makes them."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._count = 0
        self._streams: dict[int, _Stream] = {}
        self._events: dict[int, _Work] = {}
        self._running: _Work | None = None
        self._asked_for: set[int] = set()
        self._given_back: dict[int, _Work] = {}

    # -- what is given ------------------------------------------------------------------------------------------------
    def put_off(self, stream: int, run: Callable[[], object], *, after: _Work | None = None) -> _Work:
        """Work of a stream, and one more that it comes behind; what work itself gives is a part of it, done at once."""
        with self._lock:
            self._count += 1
            work = _Work(self._count, run)
            if self._running is not None:
                run()
                _end(work)
                return work
            work.after = [*self._before(stream), *([after] if after else ())]
            self._stream(stream).last = work
            return work

    def _stream(self, number: int) -> _Stream:
        """Of default streams odd numbers are a GPU's legacy one, even ones a thread's (gs_stream_number)."""
        device = (number - 1) // 2 if number < _DEFAULTS else 0
        return self._streams.setdefault(number, _Stream(device))

    def _before(self, number: int) -> list[_Work]:
        """What comes before a stream's next work."""
        stream = self._stream(number)
        if number < _DEFAULTS and number % 2:
            every = [other for other in self._streams.values() if other.device == stream.device and not other.apart]
        else:
            every = [stream] if stream.apart else [stream, self._stream(2 * stream.device + 1)]
        return [stream.last for stream in every if stream.last is not None]

    # -- memory that the host gives back ------------------------------------------------------------------------------
    def give_back(self, address: int, stream: int, run: Callable[[], object]) -> None:
        """Memory goes, by `run`, when what was given before has been done: in a stream, in all where it is 0."""
        with self._lock:
            if stream:
                self._given_back[address] = self.put_off(stream, run)
            else:
                self._count += 1
                last = [stream.last for stream in self._streams.values() if stream.last is not None]
                self._given_back[address] = _Work(self._count, run, last, waits_for_all=True)
                self._let_go()

    def given_back(self) -> list[int]:
        """Memory that is still there, and that the host had given back before it gave the work that runs now."""
        with self._lock:
            number = math.inf if self._running is None else self._running.number
            return [address for address, work in self._given_back.items() if work.run and work.number < number]

    def _let_go(self) -> None:
        """Has memory go that no work uses any more."""
        for address, work in list(self._given_back.items()):
            if work.waits_for_all and work.run is not None and all(last.run is None for last in work.after):
                self._run(work)
            if work.run is None:
                del self._given_back[address]

    def add_stream(self, stream: int, flags: int, _priority: int, device: int) -> None:
        with self._lock:
            self._streams[stream] = _Stream(device, bool(flags & NON_BLOCKING))

    def record(self, event: int, stream: int) -> None:
        with self._lock:
            self._events[event] = self.put_off(stream, _nothing)

    def follow(self, stream: int, event: int) -> None:
        with self._lock:
            self.put_off(stream, _nothing, after=self._events.get(event))

    # -- waiting ------------------------------------------------------------------------------------------------------
    def waited(self, what: int, number: int) -> None:
        """The host waits, for a device where it is for neither a stream nor an event."""
        with self._lock:
            self._do(self._covered(what, number))

    def _covered(self, what: int, number: int) -> list[_Work | None]:
        """The last works that a wait covers."""
        if what == WAITED_STREAM:
            return [*self._before(number)] if number < _DEFAULTS and number % 2 else [self._stream(number).last]
        if what == WAITED_EVENT:
            return [self._events.get(number)]
        return [stream.last for stream in self._streams.values() if stream.device == number]

    def all(self) -> None:
        """Whatever there is: what is not put off itself may need it, and a device may be fast."""
        with self._lock:
            self._do(stream.last for stream in self._streams.values())

    def copied(self, stream: int) -> None:
        """A copy is about to be made at once, which is its stream's next work."""
        with self._lock:
            self._do(self._before(stream))

    def _do(self, works: Iterable[_Work | None]) -> None:
        """These and what they need; nothing where work is under way, which is done in its turn."""
        if self._running is not None:
            return
        needed = _not_done(works)
        waiting: dict[_Work, int] = {}
        followers: dict[_Work, list[_Work]] = {}
        ready: list[tuple[int, _Work]] = []
        for work in needed:
            unfinished = [earlier for earlier in dict.fromkeys(work.after) if earlier.run is not None]
            waiting[work] = len(unfinished)
            for follower in unfinished:
                followers.setdefault(follower, []).append(work)
            if not unfinished:
                heappush(ready, (-work.number, work))
        while ready:
            _, work = heappop(ready)
            self._run(work)
            for follower in followers.get(work, ()):
                waiting[follower] -= 1
                if not waiting[follower]:
                    heappush(ready, (-follower.number, follower))
        self._let_go()

    def _run(self, work: _Work) -> None:
        run = work.run
        assert run is not None
        self._running = work  # while the lock is held: another thread of the program's waits until it is done
        try:
            run()
        finally:
            self._running = None
            _end(work)

    def is_done(self, what: int, number: int) -> int:
        """Not yet, where one asks for the first time; asking again counts as waiting: somebody may ask until it is."""
        with self._lock:
            pending = self._covered(what, number)
            unfinished = {work.number for work in _not_done(pending)}
            if unfinished - self._asked_for:
                self._asked_for |= unfinished
                return 0
            self._asked_for -= unfinished
            self._do(pending)
            return 1

    def elapsed_ms(self, start: int, end: int) -> float:
        """NaN where one of them has not happened, so that C says so."""
        with self._lock:
            return self._events[end].ended_ms - self._events[start].ended_ms

    # -- what changes nothing: it is told of what is put off by itself, or of parts of such work ----------------------
    def _ignore(self, *_: Any) -> None:
        pass

    fill = host_function = spent = pool_memory = begin_graph = node = end_graph = _ignore

    def now_us(self) -> float:
        return 1e6 * time.perf_counter()


def _nothing() -> None:
    """What an event and a wait for one do."""


def _end(work: _Work) -> None:
    work.run, work.after, work.ended_ms = None, [], 1e3 * time.perf_counter()


def _not_done(works: Iterable[_Work | None]) -> list[_Work]:
    """Of these and all that comes before them what is still to be done."""
    pending: dict[_Work, None] = {}
    unvisited = list(works)
    while unvisited:
        work = unvisited.pop()
        if work is not None and work.run is not None and work not in pending:
            pending[work] = None
            unvisited += work.after
    return list(pending)
