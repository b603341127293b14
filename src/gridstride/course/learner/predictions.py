"""What a learner said of a lab's figures before they were measured, beside what was measured."""

from __future__ import annotations

from gridstride.course.figures.figures import counted
from gridstride.course.learner.progress import LearnerProgress
from gridstride.course.learner.quiz import is_near
from gridstride.course.lesson import Day


def predictions(day: Day, progress: LearnerProgress) -> dict[str, str]:
    """What the learner said last of each figure, by the figure's name."""
    figures = {question.id: question.figure for question in day.questions if question.figure}
    return {
        figures[answer.question]: answer.given for answer in progress.answers(day.number) if answer.question in figures
    }


def measurement(day: Day, figure: str, value: float, text: str | None) -> str:
    """A figure that the lab measured, and whether what was predicted of it is so."""
    shown = counted(value, day.figures[figure].unit)
    if text is None:
        return shown
    question = next(question for question in day.questions if question.figure == figure)
    right = is_near(question, float(text.replace(",", "")), value)
    return f"{shown}; you said {text}, which is {'right' if right else 'not right'}"
