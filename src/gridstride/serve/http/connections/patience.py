"""A bound on how long a reader may take nothing, without a timer for each of a stream's thousand pieces."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self


class Patience:
    """Within it `sending` is true while something is being sent; TimeoutError once that has lasted `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: float | None = None  # the loop's time, while something is being sent
        self._late = False

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelled_before = task, task.cancelling()
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(self._seconds, self._check)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._late and kind is asyncio.CancelledError and self._task.uncancel() <= self._cancelled_before:
            raise TimeoutError from error

    def begin(self) -> None:
        self._since = self._loop.time()

    def end(self) -> None:
        self._since = None

    def _check(self) -> None:
        now = self._loop.time()
        since = now if self._since is None else self._since
        if now - since >= self._seconds:
            self._late = True
            self._task.cancel()
        else:
            self._timer = self._loop.call_at(since + self._seconds, self._check)
