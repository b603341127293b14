"""Where a learner stands: what is passed, what comes next, how many days in a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from gridstride.course.learner.progress import LearnerProgress
from gridstride.course.learner.quiz import RETURNING, Answers, returning
from gridstride.course.lesson import Day, QuizQuestion


@dataclass(frozen=True, slots=True)
class DayStanding:
    """What has been done of one day. `right` of `asked` questions were last answered right."""

    day: Day
    runs: int
    passed: bool
    hints: int
    right: int
    asked: int
    solution_first: bool

    def json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "day": self.day.number, "title": self.day.title, "passed": self.passed, "runs": self.runs,
            "hints": self.hints, "right": self.right, "asked": self.asked, "questions": len(self.day.questions),
            "solution_first": self.solution_first,
        }  # fmt: skip


def standing(day: Day, progress: LearnerProgress) -> DayStanding:
    """Of one day."""
    runs = progress.runs(day.number)
    last = {answer.question: answer.right for answer in progress.answers(day.number)}
    return DayStanding(day, len(runs), any(run.passed for run in runs), progress.hints(day.number),
                       sum(last.values()), len(last), progress.solution_seen_early(day.number))  # fmt: skip


def next_day(days: Iterable[Day], progress: LearnerProgress) -> Day | None:
    """The first day whose lab has not been passed; None where all have."""
    passed = {run.day for run in progress.runs() if run.passed}
    return next((day for day in days if day.number not in passed), None)


def next_step(so_far: DayStanding) -> str:
    """The command that goes on with a day: its lab once it has been begun or every question was answered."""
    at_the_lab = so_far.runs or so_far.asked == len(so_far.day.questions)
    return f"gridstride {'watch' if at_the_lab else 'learn'} {so_far.day.number}"


def streak(times: Iterable[datetime], today: date) -> int:
    """Days in a row on which something was done, up to today; yesterday's still counts."""
    active = {time.astimezone().date() for time in times}
    last = today if today in active else today - timedelta(days=1)
    count = 0
    while last - timedelta(days=count) in active:
        count += 1
    return count


def answers_by_question(progress: LearnerProgress) -> Answers:
    """When each question was answered, and whether right, oldest first."""
    by_question: dict[tuple[int, str], list[tuple[datetime, bool]]] = {}
    for answer in progress.answers():
        by_question.setdefault((answer.day, answer.question), []).append((answer.at, answer.right))
    return by_question


def due_count(days: Iterable[Day], progress: LearnerProgress, now: datetime) -> int:
    """How many questions wait to be asked again."""
    return len(returning(days, answers_by_question(progress), now, but=0))


def asked_with(
    day: Day, days: Iterable[Day], progress: LearnerProgress, now: datetime
) -> list[tuple[Day, QuizQuestion]]:
    """A day's own questions, then those of other days that are due."""
    due = returning(days, answers_by_question(progress), now, but=day.number)
    return [*((day, question) for question in day.questions), *due[:RETURNING]]
