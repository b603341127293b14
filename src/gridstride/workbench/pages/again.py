"""The questions that are due again, of all days, longest due first."""

from __future__ import annotations

from datetime import UTC, datetime

from nicegui import ui

from gridstride.course.content import readable_days
from gridstride.course.learner.progress import LearnerProgress
from gridstride.course.learner.quiz import returning
from gridstride.course.learner.standing import answers_by_question
from gridstride.course.lesson import Day, QuizQuestion
from gridstride.workbench.pages.quiz import card
from gridstride.workbench.state import Workbench

_SHOWN = 12  # a sitting


def read(progress: LearnerProgress) -> list[tuple[Day, QuizQuestion]]:
    """From the learner's record."""
    return returning(readable_days()[0], answers_by_question(progress), datetime.now(UTC), but=0)


async def build(workbench: Workbench) -> None:
    """The page."""
    due = await workbench.read(read)
    ui.html("<h1>Asked again</h1>", sanitize=False)
    if not due:
        ui.label("No question waits to be asked again: they come back 1, 3, 7 and 21 days after a right answer.")
        ui.link("To the days", "/")
        return
    more = f" These are the first {_SHOWN} of {len(due)}." if len(due) > _SHOWN else ""
    ui.label(f"What you answered some days ago, or not right.{more}").classes("soft")
    for number, (day, question) in enumerate(due[:_SHOWN], start=1):
        card(workbench, day, question, number=number, again=f"day {day.number}", last=None)
