"""What the course's commands share: the day that is meant, the learner's progress, and errors as wrong usage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gridstride.commands.terminal import WrongUse, print_stderr

if TYPE_CHECKING:
    from gridstride.course.lesson import Day
    from gridstride.course.progress import Progress


@contextmanager
def course_errors() -> Iterator[None]:
    """Inside, what is not there (a day, progress, compilers) or is broken is one message."""
    from gridstride.course.errors import LessonError, NoSuchDay, ProgressError
    from gridstride.judge.sandbox.client import CannotJudge
    from gridstride.programs.errors import MissingToolchain

    try:
        yield
    except (LessonError, NoSuchDay, ProgressError, CannotJudge, MissingToolchain) as error:
        raise WrongUse(str(error)) from error


@contextmanager
def opened() -> Iterator[Progress]:
    """The learner's progress."""
    from gridstride.course.progress import Progress
    from gridstride.course.workspace import progress_file

    with course_errors(), Progress(progress_file(), say=lambda text: print_stderr(f"warning: {text}")) as progress:
        yield progress


ALL_PASSED = "Every day there is has been passed"


def all_passed(progress: Progress) -> bool:
    """Whether the lab of every day there is has been passed."""
    from gridstride.course.content import all_days
    from gridstride.course.standing import next_day

    return next_day(all_days(), progress) is None


def chosen_day(word: str | None, progress: Progress) -> Day:
    """The day that is named; without a name the first that is not passed, or the last one where all are."""
    from gridstride.course.content import all_days, day, day_number
    from gridstride.course.standing import next_day

    if word is not None:
        return day(day_number(word))
    days = all_days()
    return next_day(days, progress) or days[-1]
