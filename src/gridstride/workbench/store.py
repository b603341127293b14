"""The learner's database in a thread of its own: a page that waits for the disk, or for a lock, stops no other page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from gridstride.course.course_errors import ProgressError
from gridstride.course.learner.progress import LearnerProgress

_T = TypeVar("_T")
_WAIT = 3.0  # seconds for another program that writes; a page says so then


class Store:
    """Runs functions on the open database, one after another; `notices` are things that the learner must be told."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notices: list[str] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="database")
        self._progress: LearnerProgress | None = None

    async def do(self, work: Callable[[LearnerProgress], _T]) -> _T:
        """What `work` gives; ProgressError. After one the file is opened anew, so that a damaged one is set aside."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._done, work)

    async def close(self) -> None:
        """Close the file when all that was asked for is done."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._closed)
        self._thread.shutdown(wait=False)

    def _done(self, work: Callable[[LearnerProgress], _T]) -> _T:
        self._progress = self._progress or LearnerProgress(self.path, say=self.notices.append, wait=_WAIT)
        try:
            return work(self._progress)
        except ProgressError:
            self._closed()
            raise

    def _closed(self) -> None:
        if self._progress is not None:
            self._progress.close()
            self._progress = None
