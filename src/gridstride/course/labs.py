"""What judges a lab, whatever its kind, and what is said of the figures that it measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gridstride.course.figures import counted
from gridstride.course.lab_verdict import LabVerdict
from gridstride.course.lesson import Day
from gridstride.course.progress import Progress
from gridstride.course.quiz import is_near

Judge = Callable[[Path], LabVerdict]


def _quiet(_: str) -> None:
    pass


@contextmanager
def judging(day: Day, *, progress: Callable[[str], None] = _quiet) -> Iterator[Judge]:
    """What judges the lab of a day, ready; `progress` hears of each case."""
    if day.lab.kind == "writing":
        from gridstride.course import table_lab

        yield lambda file: table_lab.judge(day, file)
        return
    from gridstride.course.kernel_lab import KernelLab

    with KernelLab(day, progress=progress) as lab:
        lab.warm_up()
        yield lab.judge


def predictions(day: Day, progress: Progress) -> dict[str, str]:
    """What the learner said last of each figure, by the figure's name."""
    figures = {question.id: question.figure for question in day.questions if question.figure}
    return {figures[each.question]: each.given for each in progress.answers(day.number) if each.question in figures}


def measurement(day: Day, figure: str, value: float, given: str | None) -> str:
    """A figure that the lab measured, and whether what was predicted of it is so."""
    shown = counted(value, day.figures[figure].unit)
    if given is None:
        return shown
    question = next(each for each in day.questions if each.figure == figure)
    right = is_near(question, float(given.replace(",", "")), value)
    return f"{shown}; you said {given}, which is {'right' if right else 'not right'}"
