"""The days: which are passed, which comes next, how many in a row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

from nicegui import ui

from gridstride.course.content import DAYS, readable_days
from gridstride.course.course_errors import LessonError
from gridstride.course.learner.progress import LearnerProgress
from gridstride.course.learner.standing import DayStanding, due_count, next_day, standing, streak
from gridstride.workbench.pages.frame import trouble
from gridstride.workbench.state import Workbench


@dataclass(frozen=True, slots=True)
class Roadmap:
    """What the page shows. `following` is the next day's number; None where all are passed."""

    rows: tuple[DayStanding, ...]
    broken: tuple[LessonError, ...]
    streak: int
    due: int
    following: int | None


def read(progress: LearnerProgress) -> Roadmap:
    """From the learner's record."""
    good, broken = readable_days()
    following = next_day(good, progress)
    return Roadmap(
        tuple(standing(day, progress) for day in good), tuple(broken),
        streak(progress.active_times(), datetime.now().astimezone().date()),
        due_count(good, progress, datetime.now(UTC)), following.number if following else None,
    )  # fmt: skip


async def build(workbench: Workbench) -> None:
    """The page."""
    roadmap = await workbench.read(read)
    ui.html("<h1>The course</h1>", sanitize=False)
    with ui.element("section").classes("standing"):
        _next(roadmap)
        passed = sum(row.passed for row in roadmap.rows)
        _figure(f"{passed} of {len(roadmap.rows)}", "days passed")
        _figure(str(roadmap.streak), "day in a row" if roadmap.streak == 1 else "days in a row")
        _figure(str(roadmap.due), "question to answer again" if roadmap.due == 1 else "questions to answer again",
                "/again" if roadmap.due else "")  # fmt: skip
    for error in roadmap.broken:
        trouble(f"A day cannot be read: {error}")
    _squares(roadmap)
    rows = "".join(_row(row, next_one=row.day.number == roadmap.following) for row in roadmap.rows)
    ui.html(rows, sanitize=False, tag="ol").classes("days")  # one element: the rows' three hundred are slow


def _next(roadmap: Roadmap) -> None:
    row = next((row for row in roadmap.rows if row.day.number == roadmap.following), None)
    with ui.element("div").classes("next"):
        if row is None:
            ui.label("Every day there is has been passed." if roadmap.rows else "There is no day that can be read.")
            return
        at_the_lab = row.runs or row.asked == len(row.day.questions)
        number = row.day.number
        ui.link(f"{'Go on with' if row.runs or row.asked else 'Begin'} day {number}",
                f"/day/{number}/lab" if at_the_lab else f"/day/{number}").classes("go")  # fmt: skip
        ui.label(row.day.title).classes("soft")


def _figure(value: str, unit: str, path: str = "") -> None:
    """A number, which leads to a page where it has one."""
    with ui.element("div").classes("figure"):
        ui.label(value).classes("value")
        if path:
            ui.link(unit, path)
        else:
            ui.label(unit).classes("soft")


def _squares(roadmap: Roadmap) -> None:
    """A square for each of the hundred days; a reader who hears the page has the list below."""
    rows = {row.day.number: row for row in roadmap.rows}
    squares = "".join(_square(number, rows.get(number)) for number in range(1, DAYS + 1))
    ui.html(squares, sanitize=False).classes("squares").props('aria-hidden="true"')  # one element: a hundred are slow


def _square(number: int, row: DayStanding | None) -> str:
    if row is None:
        return f'<span class="square absent" title="Day {number}, not written yet"></span>'
    state = "passed" if row.passed else "begun" if row.runs else "open"
    title = f"Day {number}: {escape(row.day.title)}"
    return f'<a class="square {state}" href="/day/{number}" tabindex="-1" title="{title}"></a>'


def _row(row: DayStanding, *, next_one: bool) -> str:
    number, quiz = row.day.number, f"{row.right} of {len(row.day.questions)} questions"
    lab = "passed" if row.passed else "begun" if row.runs else "to do"
    solution_note = " (solution first)" if row.solution_first else ""
    problem = row.day.lab.problem
    ladder = f'<a href="/ladder/{problem}">ladder of {problem}</a>' if problem else ""
    about = f"{escape(row.day.part)} · {row.day.minutes} minutes · {quiz}"
    return f"""<li class="day{" next-day" if next_one else ""}"><div class="number">{number}</div><div>
        <a class="title" href="/day/{number}">{escape(row.day.title)}</a>
        <div class="soft small about"><div>{about}</div>{ladder}</div>
        </div><a class="state{" passed" if row.passed else ""}" href="/day/{number}/lab"
        aria-label="Lab of day {number}: {lab}">lab: {lab}{solution_note}</a></li>"""
