"""Where the course lies, and its days: in the package as it is installed, or beside src in a checkout."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path

from gridstride.course.course_errors import LessonError, NoSuchDay
from gridstride.course.files.load import read_day
from gridstride.course.glossary import Term, read_glossary
from gridstride.course.lesson import Day

DAYS = 100  # of the course once all are written
_NAME = re.compile(r"day(\d{3})")


def course_folder() -> Path:
    """The folder of dayNNN and the glossary."""
    installed = Path(__file__).resolve().parent / "days"
    return installed if installed.is_dir() else Path(__file__).resolve().parents[3] / "course"


def day_numbers(folder: Path | None = None) -> tuple[int, ...]:
    """The days there are."""
    matches = (_NAME.fullmatch(path.name) for path in (folder or course_folder()).glob("day*"))
    return tuple(sorted(int(match[1]) for match in matches if match))


@functools.cache
def day(number: int, folder: Path | None = None) -> Day:
    """One day; NoSuchDay, LessonError."""
    folder = folder or course_folder()
    if number not in day_numbers(folder):
        raise NoSuchDay(_missing(number, day_numbers(folder)))
    lesson_day = read_day(folder / f"day{number:03}", glossary(folder))
    for needed in lesson_day.needs:
        if needed not in day_numbers(folder) and needed >= number:
            raise LessonError(lesson_day.folder / "lesson.md", 1, f"needs day {needed}, which is no earlier day")
    return lesson_day


def all_days() -> list[Day]:
    """Every day, in order; LessonError."""
    return [day(number) for number in day_numbers()]


def readable_days() -> tuple[list[Day], list[LessonError]]:
    """The days that can be read, in order, and what is wrong with the others: one of them must not stop the rest."""
    good: list[Day] = []
    broken: list[LessonError] = []
    for number in day_numbers():
        try:
            good.append(day(number))
        except LessonError as error:
            broken.append(error)
    return good, broken


@functools.cache
def glossary(folder: Path | None = None) -> dict[str, Term]:
    """The terms by anchor."""
    return read_glossary(folder or course_folder())


def day_number(word: str) -> int:
    """The day that a word names: 5, 05, day5, day005; NoSuchDay."""
    match = re.fullmatch(r"(?:day)?0*(\d{1,3})", word.strip().lower())
    if match is None:
        raise NoSuchDay(f"{word!r} is no day: give its number, {_in_a_row(day_numbers())}")
    return int(match[1])


def _in_a_row(numbers: Iterable[int]) -> str:
    """Numbers in words, those in a row as `1 to 40`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _missing(number: int, written_days: tuple[int, ...]) -> str:
    if 1 <= number <= DAYS:
        return f"day {number} is not written yet: there are {_in_a_row(written_days)}"
    return f"there is no day {number}: of days 1 to {DAYS}, {_in_a_row(written_days)} are written"
