"""The threads that run blocks beside the calling one."""

from __future__ import annotations

import os
import queue
import threading

from gridstride.virtual.machine import engine


class Helpers:
    """Threads that wait for a worker record each and run it; started when first needed."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._work: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._owner = os.getpid()

    def run(self, workers: list[int]) -> None:
        """Runs the first worker here and the others on helpers; returns when all are through."""
        self._start()
        for worker in workers[1:]:
            self._work.put(worker)
        try:
            engine.run(workers[0])
        finally:
            for _ in workers[1:]:
                self._done.get()

    def _start(self) -> None:
        if self._owner != os.getpid():  # threads do not survive a fork
            self.__init__(self.count)  # type: ignore[misc]
        while len(self._threads) < self.count:
            thread = threading.Thread(target=self._serve, name="gridstride-worker", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        while True:
            worker = self._work.get()
            try:
                engine.run(worker)
            finally:
                self._done.put(None)


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
