"""A day's lesson with its quiz and its interview questions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from nicegui import ui

from gridstride.course.content import day as read_day
from gridstride.course.content import day_number, day_numbers, readable_days
from gridstride.course.learner.progress import AnswerRecord, LearnerProgress
from gridstride.course.learner.standing import asked_with
from gridstride.course.lesson import Day, QuizQuestion
from gridstride.workbench.pages.prose import Sentences, prepare, prose
from gridstride.workbench.pages.quiz import card
from gridstride.workbench.state import Workbench


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the page shows; `last` is the newest answer to each question."""

    day: Day
    asked: tuple[tuple[Day, QuizQuestion], ...]
    last: dict[tuple[int, str], AnswerRecord]


def read(progress: LearnerProgress, word: str) -> Lesson:
    """From the course and the learner's record; NoSuchDay, LessonError."""
    day = read_day(day_number(word))
    last = {(answer.day, answer.question): answer for answer in progress.answers()}
    questions = tuple(asked_with(day, readable_days()[0], progress, datetime.now(UTC)))
    return Lesson(day, questions, last)


async def build(workbench: Workbench, word: str) -> None:
    """The page."""
    lesson = await workbench.read(lambda progress: read(progress, word))
    day = lesson.day
    await asyncio.to_thread(prepare, day)
    with ui.element("div").classes("soft eyebrow"):
        ui.label(f"Day {day.number} · {day.part} · {day.minutes} minutes")
        if day.needs:
            _needs(day)
    prose(day.text)
    with ui.element("aside").classes("sources soft small"):
        ui.label(f"Sources: {'; '.join(day.sources)}")
    ui.html('<h2 id="quiz">Say what you expect</h2>', sanitize=False)
    ui.label("Answers are kept. Numbers are measured once you have said yours, and the lab shows some of them again.")
    for number, (of, question) in enumerate(lesson.asked, start=1):
        again = "" if of is day else f"day {of.number}, again"
        card(workbench, of, question, number=number, again=again,
             last=lesson.last.get((of.number, question.id)) if of is day else None)  # fmt: skip
    _interviews(day)
    with ui.element("div").classes("onwards"):
        ui.link(f"To the lab: {day.lab.title}", f"/day/{day.number}/lab").classes("go")


def _needs(day: Day) -> None:
    ui.label("after")
    for number in day.needs:
        if number in day_numbers():
            ui.link(f"day {number}", f"/day/{number}")
        else:
            ui.label(f"day {number} (not written yet)")


def _interviews(day: Day) -> None:
    ui.html("<h2>As an interviewer asks it</h2>", sanitize=False)
    for interview in day.interviews:
        with ui.element("details").classes("interview"):
            with ui.element("summary"):
                ui.label(interview.question)
            Sentences(interview.answer)
