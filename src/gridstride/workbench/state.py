"""What every page is given: the learner's database, the queue, and the days that can be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from gridstride.course.content import day, day_numbers
from gridstride.course.errors import LessonError
from gridstride.course.lesson import Day
from gridstride.course.progress import Progress
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

    async def read(self, work: Callable[[Progress], _T]) -> _T:
        """What `work` gives of the learner's record; ProgressError."""
        return await self.store.do(work)


def days() -> tuple[list[Day], list[LessonError]]:
    """The days that can be read, and what is wrong with the others."""
    good: list[Day] = []
    broken: list[LessonError] = []
    for number in day_numbers():
        try:
            good.append(day(number))
        except LessonError as error:
            broken.append(error)
    return good, broken
