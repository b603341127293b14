"""Stopping a launch from outside: the time limit, and Ctrl-C while Python is inside the machine code."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gridstride.virtual.abi.finding_kinds import FAULT

TICK = 0.05
"""Seconds between two looks at the clock while something runs."""
STARVED = 10
"""Times its limit that a launch on one thread may take by the clock, where the machine gives that thread no more."""
PROGRESS = 4
"""Times its limit that a launch may take whose blocks go on starting, at a pace that ends it by then."""
_LATER = 1.5  # times what the other blocks take at that pace
LINGER = 1.0
"""Seconds the watcher stays awake after the last launch, so that a row of launches wakes it once."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a launch's time is up: `limit` seconds by the clock. What a single thread runs has them of a processor, and
    what several run is not charged with the time that the first was ready and had none, so that a busy machine does not
    end what would have ended by itself; STARVED times as long by the clock ends it.
    """

    start: float
    limit: float
    spent: Callable[[], float] | None = None

    def passed(self, now: float, *, share: float = 1.0) -> bool:
        """Whether the time, or this share of it, is up at `now`."""
        elapsed, limit = now - self.start, share * self.limit
        return elapsed > limit and (self.spent is None or self.spent() > limit or elapsed > STARVED * limit)


def deadline(limit: float, threads: int) -> Deadline:
    """That of a launch that begins now, on the calling thread and so many in all."""
    start = time.monotonic()
    if threads > 1:
        thread = threading.get_native_id()
        late = _without_processor(thread)
        return Deadline(start, limit, lambda: time.monotonic() - start - (_without_processor(thread) - late))
    if not hasattr(time, "pthread_getcpuclockid"):
        return Deadline(start, limit)
    clock = time.pthread_getcpuclockid(threading.get_ident())
    start_time = time.clock_gettime(clock)
    return Deadline(start, limit, lambda: time.clock_gettime(clock) - start_time)


def _without_processor(thread: int) -> float:
    """Seconds that a thread of this process was ready and had no processor; 0 where the system does not say."""
    try:
        with open(f"/proc/self/task/{thread}/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


_BEGINNING: dict[int, threading.Lock] = {}
"""Of each process its own lock: what holds it while a child begins anew."""


class WatchedLaunch:
    """A launch that runs, and when it is to be stopped: a large one that gets on is given longer, a loop is not."""

    def __init__(self, record: np.ndarray[Any, Any], limit: float, threads: int) -> None:
        self.record = record
        self._limit, self._deadline = limit, deadline(limit, threads)
        self._since = limit / 2  # seconds after which blocks are counted, to see how many start until the limit
        self._before: int | None = None

    @property
    def limit(self) -> float:
        """Seconds that it has been given so far."""
        return self._deadline.limit

    def is_late(self, now: float) -> bool:
        """Whether it must be stopped at `now`."""
        if self._before is None and self._deadline.passed(now, share=0.5):
            self._before = self._started()
        if not self._deadline.passed(now):
            return False
        longer = self._needed()
        if longer is None or self._deadline.limit + longer > PROGRESS * self._limit:
            return True
        self._since, self._before = self._deadline.limit, self._started()
        self._deadline = replace(self._deadline, limit=self._deadline.limit + longer)
        return False

    def _started(self) -> int:
        """Blocks that have been taken: of the last ones it is not known which have ended."""
        return int(min(self.record["next"][0], self.record["blocks"][0]))

    def _needed(self) -> float | None:
        """Seconds that the other blocks take at the pace since blocks were counted; None where none has started."""
        started = self._started()
        new = started - (started if self._before is None else self._before)
        if new == 0:
            return None
        pace = (self._deadline.limit - self._since) / new
        return max(_LATER * pace * (int(self.record["blocks"][0]) - started), self._limit / 4)


class Watcher:
    """One thread that sets a launch's abort field when its time is up or the user presses Ctrl-C."""

    def __init__(self) -> None:
        self.takes_signals = True
        """Whether Ctrl-C is to stop launches: False in a process that it ends, whatever runs."""
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        os.set_blocking(self._read, False)
        self._running: dict[int, WatchedLaunch] = {}
        self._asleep = True
        self._last = 0.0
        self._thread: threading.Thread | None = None
        self._process = os.getpid()  # last: other threads of a child go on from here

    @contextmanager
    def watch(self, launch: np.ndarray[Any, Any], limit: float | None, threads: int = 1) -> Iterator[WatchedLaunch]:
        """Watches a launch record while the body runs it on so many threads; `limit` in seconds."""
        if self._process != os.getpid():
            self._begin_in_child()
        key = id(launch)
        watched = WatchedLaunch(launch, float("inf") if limit is None else limit, threads)
        self._running[key] = watched
        self._last = time.monotonic()
        if self._asleep:
            self._wake()
        previous = self._take_signals()
        try:
            yield watched
        finally:
            del self._running[key]
            self._last = time.monotonic()
            if previous is not None:
                signal.set_wakeup_fd(previous, warn_on_full_buffer=False)

    def _begin_in_child(self) -> None:
        """A child has the parent's pipe and no thread that reads it: what it wrote there would wake, or interrupt, the
        parent. Looked for at a launch, because nobody tells Python of a fork() in C. The pipe is not closed: a program
        that has closed all descriptors may have others under these numbers. Nor is the parent's lock of use, which
        another of its threads may have held when it forked: nobody in the child would ever give it back.
        """
        with _BEGINNING.setdefault(os.getpid(), threading.Lock()):
            if self._process != os.getpid():
                self._lock = threading.Lock()
                self._begin()

    def _take_signals(self) -> int | None:
        """Has the C signal handler write to our pipe: Python's own runs only after the machine code returns."""
        if not self.takes_signals or threading.current_thread() is not threading.main_thread():
            return None
        return signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)

    def _wake(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="gridstride-watch", daemon=True)
                self._thread.start()
            self._asleep = False
            os.write(self._write, b"\0")

    def _work(self) -> None:
        while True:
            self._asleep = True  # before the look: a launch that comes after it finds us asleep and wakes us
            if self._running or time.monotonic() - self._last <= LINGER:
                self._asleep = False
            ready, _, _ = select.select([self._read], [], [], None if self._asleep else TICK)
            self._asleep = False
            if ready and signal.SIGINT in self._signals():
                self._stop("interrupted", time.monotonic(), everything=True)
            self._stop("timeout", time.monotonic())

    def _signals(self) -> bytes:
        """What was written to the pipe since; nothing where a process that has it too was the first to read."""
        try:
            return os.read(self._read, 4096)
        except BlockingIOError:
            return b""

    def _stop(self, why: str, now: float, *, everything: bool = False) -> None:
        for watched in list(self._running.values()):
            if everything or watched.is_late(now):
                watched.record["abort"] = FAULT[why]


WATCHER = Watcher()
"""The process' one watcher."""


def after_fork() -> None:
    """A forked child has no watcher thread: it starts its own."""
    WATCHER.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=after_fork)
