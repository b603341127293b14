"""What the course's commands share: the day that is meant, the learner's progress, and errors as wrong usage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gridstride.commands.terminal import WrongUse, print_stderr

if TYPE_CHECKING:
    from gridstride.course.learner.progress import LearnerProgress
    from gridstride.course.lesson import Day


@contextmanager
def course_errors() -> Iterator[None]:
    """Inside, what is not there (a day, progress, compilers) or is broken is one message."""
    from gridstride.course.course_errors import LessonError, NoSuchDay, ProgressError
    from gridstride.judge.sandbox.client import CannotJudge
    from gridstride.programs.program_errors import MissingToolchain

    try:
        yield
    except (LessonError, NoSuchDay, ProgressError, CannotJudge, MissingToolchain) as error:
        raise WrongUse(str(error)) from error


@contextmanager
def opened() -> Iterator[LearnerProgress]:
    """The learner's progress."""
    from gridstride.course.learner.progress import LearnerProgress
    from gridstride.course.learner.workspace import progress_file

    with (
        course_errors(),
        LearnerProgress(progress_file(), say=lambda text: print_stderr(f"warning: {text}")) as progress,
    ):
        yield progress


def days_there() -> list[Day]:
    """The days that can be read; of the others a line on stderr says what is wrong."""
    from gridstride.course.content import readable_days

    good, broken = readable_days()
    if not good and broken:
        raise broken[0]
    for error in broken:
        print_stderr(f"warning: left out: {error}")
    return good


ALL_PASSED = "Every day there is has been passed"


def all_passed(progress: LearnerProgress) -> bool:
    """Whether the lab of every day there is has been passed. Days are read up to the first that has not: reading all
    takes longer than judging many a lab.
    """
    from gridstride.course.content import day, day_numbers
    from gridstride.course.course_errors import LessonError

    passed = {run.day for run in progress.runs() if run.passed}
    for number in day_numbers():
        if number not in passed:
            with suppress(LessonError):  # it cannot be passed, so it keeps nobody from the end
                day(number)
                return False
    return True


def chosen_day(word: str | None, progress: LearnerProgress) -> Day:
    """The day that is named; without a name the first that is not passed, or the last one where all are."""
    from gridstride.course.content import day, day_number
    from gridstride.course.learner.standing import next_day

    if word is not None:
        return day(day_number(word))
    days = days_there()
    return next_day(days, progress) or days[-1]
