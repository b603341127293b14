"""A day's lab: its statement, the editor with hints and solution beside it, below it the run and its verdict."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from nicegui import ui

from gridstride.course.content import day as read_day
from gridstride.course.content import day_number
from gridstride.course.learner.predictions import predictions
from gridstride.course.learner.progress import LearnerProgress
from gridstride.course.learner.standing import standing
from gridstride.course.lesson import Day
from gridstride.workbench.jobs import Job, Jobs
from gridstride.workbench.lab_text import LabText
from gridstride.workbench.pages.editor import Editor
from gridstride.workbench.pages.frame import button
from gridstride.workbench.pages.prose import Sentences, listing, prose
from gridstride.workbench.pages.run_panel import RunPanel, following
from gridstride.workbench.state import Workbench


@dataclass(frozen=True, slots=True)
class LabPage:
    """What the page shows. `verdict` and `report` are the day's newest jobs of either kind."""

    day: Day
    passed: bool
    hints: int
    predicted: dict[str, str]
    verdict: Job | None
    report: Job | None
    following: Day | None


def read(progress: LearnerProgress, word: str) -> LabPage:
    """From the course and the learner's record; NoSuchDay, LessonError, ProgressError."""
    day = read_day(day_number(word))
    so_far, jobs = standing(day, progress), Jobs(progress)
    return LabPage(day, so_far.passed, so_far.hints, predictions(day, progress),
               jobs.latest(day.number, "judge"), jobs.latest(day.number, "explain"),
               following(day, progress))  # fmt: skip


async def build(workbench: Workbench, word: str) -> None:
    """The page; ProgressError below the statement where the file cannot be opened."""
    lab = await workbench.read(lambda progress: read(progress, word))
    day = lab.day
    with ui.element("div").classes("soft eyebrow"):
        ui.link(f"Day {day.number} · {day.title}", f"/day/{day.number}")
        if day.lab.problem:
            ui.link(f"ladder of {day.lab.problem}", f"/ladder/{day.lab.problem}")
    ui.html("<h1>Lab</h1>", sanitize=False)
    _statement(day)
    text = await asyncio.to_thread(LabText, day)  # the learner's disk may be slow: it holds up nobody else
    with ui.element("div").classes("lab"):
        with ui.element("div").classes("work"):
            editor = Editor(text, day)
            panel = RunPanel(workbench, day, editor, predicted=lab.predicted, following=lab.following)
            editor.on_run = panel.run
        with ui.element("aside").classes("beside").props('aria-label="Hints and solution"'):
            hints = _Hints(workbench, day, shown_hints=lab.hints)
            solution = _Solution(workbench, day, passed=lab.passed)
            panel.on_pass = solution.passed
    panel.place_report()
    solution.place()
    panel.open(lab.verdict, lab.report)
    hints.show()
    solution.show()


def _statement(day: Day) -> None:
    with ui.element("div").classes("statement"):
        prose(f"{day.lab.title}. *It passes when this holds:* {day.lab.shows}")
        ui.label("It is the file that gridstride watch judges: write it here or in any editor.").classes("soft small")


class _Hints:
    """Hints, of which the next is shown on asking."""

    def __init__(self, workbench: Workbench, day: Day, *, shown_hints: int) -> None:
        self._workbench, self._day, self._shown_hints = workbench, day, shown_hints
        self._area = ui.element("section").props('aria-label="Hints"')

    def show(self) -> None:
        """Those that were taken, and the way to the next."""
        hints, self_taken = self._day.lab.hints, self._shown_hints
        self._area.clear()
        with self._area:
            ui.html("<h2>Hints</h2>", sanitize=False)
            with ui.element("ol").classes("hints"):
                for hint in hints[:self_taken]:
                    with ui.element("li"):
                        Sentences(hint)
            if self_taken < len(hints):
                button(f"{'Next' if self_taken else 'First'} hint of {len(hints)}", self._next)
            else:
                ui.label("That was the last one.").classes("soft small")

    async def _next(self) -> None:
        most = len(self._day.lab.hints)
        self._shown_hints = await self._workbench.read(lambda progress: progress.next_hint(self._day.number, most))
        self.show()


class _Solution:
    """The solution, after passing or on asking, which is recorded."""

    def __init__(self, workbench: Workbench, day: Day, *, passed: bool) -> None:
        self._workbench, self._day, self._passed = workbench, day, passed
        self._area = self._shown = ui.element("section").props('aria-label="Solution"')

    def place(self) -> None:
        """It is shown here, where it has the width of the page."""
        self._shown = ui.element("section").classes("solution").props('aria-label="The solution\'s text"')

    def passed(self) -> None:
        """The lab has been passed just now."""
        self._passed = True
        self.show()

    def show(self) -> None:
        """The way to it."""
        self._area.clear()
        with self._area:
            ui.html("<h2>Solution</h2>", sanitize=False)
            if self._passed:
                button("Show the solution", self._open)
                return
            ui.label("It opens when the lab passes.").classes("soft small")
            with ui.element("details"):
                with ui.element("summary"):
                    ui.label("Show it all the same")
                ui.label("Your progress will say that it was looked at before.").classes("soft small")
                button("Show it, and record that", self._open)

    async def _open(self) -> None:
        await self._workbench.read(
            lambda progress: progress.record_solution(self._day.number, passed=self._passed)
        )  # fmt: skip
        self._area.clear()
        with self._area:
            ui.html("<h2>Solution</h2>", sanitize=False)
            ui.label("It stands below.").classes("soft small")
        with self._shown:
            ui.html("<h2>The solution</h2>", sanitize=False)
            listing(self._day.solution.read_text(), self._day.solution.name)
            if self._day.lab.problem:
                ui.label(f"The whole ladder: gridstride climb {self._day.lab.problem}").classes("soft small")
