"""What every page is given: the learner's database, the queue, and where the server is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from gridstride.course.learner.progress import LearnerProgress
from gridstride.workbench.dispatch import Dispatcher
from gridstride.workbench.store import Store

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Workbench:
    """The server's parts. `url` is where it is, `public` whether other machines reach it."""

    store: Store
    dispatcher: Dispatcher
    url: str
    public: bool

    async def read(self, work: Callable[[LearnerProgress], _T]) -> _T:
        """What `work` gives of the learner's record; ProgressError."""
        return await self.store.do(work)
