"""The threads that run blocks beside the calling one."""

from __future__ import annotations

import os
import queue
import threading
import weakref

from gridstride.virtual.machine import engine

Task = tuple[int, list[int], queue.SimpleQueue[None]]
"""A worker record's address, those that are through, and where to say so."""


class Helpers:
    """Threads that wait for a worker record each and run it; started when first needed, ended with their device."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._work: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._owner = os.getpid()

    def run(self, workers: list[int]) -> None:
        """Runs the first worker here and the others on helpers; returns when all are through."""
        self._start()
        finished: list[int] = []
        news: queue.SimpleQueue[None] = queue.SimpleQueue()
        for worker in workers[1:]:
            self._work.put((worker, finished, news))
        try:
            engine.run(workers[0])
        finally:
            _wait(finished, news, len(workers) - 1)

    def _start(self) -> None:
        if self._owner != os.getpid():  # threads do not survive a fork
            self.__init__(self.count)  # type: ignore[misc]
        while len(self._threads) < self.count:
            thread = threading.Thread(target=_serve, args=(self._work,), name="gridstride-worker", daemon=True)
            self._threads.append(thread)
            thread.start()
            weakref.finalize(self, self._work.put, None).atexit = False


def _serve(work: queue.SimpleQueue[Task | None]) -> None:
    """Runs what comes until None does: whoever gave work is gone."""
    while (task := work.get()) is not None:
        worker, finished, news = task
        try:
            engine.run(worker)
        finally:
            finished.append(worker)
            news.put(None)


def _wait(finished: list[int], news: queue.SimpleQueue[None], count: int) -> None:
    """Until so many are through, whatever the user presses meanwhile: they still use the launch's memory."""
    pressed: KeyboardInterrupt | None = None
    while len(finished) < count:
        try:
            news.get()
        except KeyboardInterrupt as interrupt:  # the list says who is through: this may have eaten a piece of news
            pressed = interrupt
    if pressed is not None:
        raise pressed


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
