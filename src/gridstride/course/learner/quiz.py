"""Judges answers, and chooses what is asked: the day's own questions, then those of earlier days that come back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gridstride.course.figures.figures import counted, plain_number
from gridstride.course.figures.worked_kernels import WorkedKernels
from gridstride.course.learner.spacing import due
from gridstride.course.lesson import LETTERS, Day, QuizQuestion

RETURNING = 2  # questions of earlier days in each quiz
_MEASURED = "measured"


class AnswerError(ValueError):
    """An answer that is none: neither a letter of the choices nor a number."""


@dataclass(frozen=True, slots=True)
class Marked:
    """An answer, whether it is right, and why; `measured` is the figure that was predicted."""

    day: int
    question: QuizQuestion
    given: str
    right: bool
    why: str
    measured: float | None = None

    def json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"day": self.day, "question": self.question.id, "answer": self.given, "right": self.right,
                "why": self.why, "measured": self.measured}  # fmt: skip


def question_json(day: Day, question: QuizQuestion) -> dict[str, Any]:
    """The question without its answer."""
    choices = {letter: choice.text for letter, choice in zip(LETTERS, question.choices, strict=False)}
    unit = day.figures[question.figure].unit if question.figure else None
    return {"day": day.number, "question": question.id, "ask": question.ask.strip(), "choices": choices, "unit": unit}


def mark(day: Day, question: QuizQuestion, answer: str, bench: WorkedKernels | None = None) -> Marked:
    """The answer judged; a prediction is compared with what a run counts now. AnswerError where it is no answer."""
    answer = read_answer(question, answer)
    if question.figure:
        return _predicted(day, question, answer, bench or WorkedKernels(day))
    right = answer == question.answer
    why = question.choices[LETTERS.index(answer)].why
    if not right:
        why = f"{why} Right is {question.answer}: {question.choices[LETTERS.index(question.answer)].why}"
    return Marked(day.number, question, answer, right, why)


def read_answer(question: QuizQuestion, answer: str) -> str:
    """The answer as it is recorded; AnswerError where it is neither one of the letters nor, for a figure, a number."""
    answer = answer.strip().lower()
    if question.figure:
        if not math.isfinite(_number(answer)):
            raise AnswerError(f"{answer!r} is no answer: give a number")
    elif len(answer) != 1 or answer not in LETTERS[: len(question.choices)]:
        raise AnswerError(f"{answer!r} is no answer: give a letter from a to {LETTERS[len(question.choices) - 1]}")
    return answer


def _number(answer: str) -> float:
    """NaN where it is none."""
    try:
        return float(answer.replace(",", ""))
    except ValueError:
        return math.nan


def _predicted(day: Day, question: QuizQuestion, answer: str, bench: WorkedKernels) -> Marked:
    number = _number(answer)
    measured = bench.value(question.figure)
    right = is_near(question, number, measured)
    figure = day.figures[question.figure]
    how = " from the chip's data" if not figure.run else "" if "modelled" in figure.unit else f" {_MEASURED}"
    slip = next((slip.why for slip in question.slips if not right and math.isclose(slip.value, number)), "")
    number_of = counted(measured, figure.unit)
    parts = [f"{number_of}{how}; you said {plain_number(number)}.", slip, question.why.strip()]
    return Marked(day.number, question, answer, right, " ".join(part for part in parts if part), measured)


def is_near(question: QuizQuestion, number: float, measured: float) -> bool:
    """Whether a prediction is near enough to what was measured, or as near as it is shown."""
    near = abs(number - measured) <= question.tolerance * abs(measured) + 1e-9 * abs(measured)
    return near or plain_number(number) == plain_number(measured)


Answers = Mapping[tuple[int, str], Sequence[tuple[datetime, bool]]]


def returning(days: Iterable[Day], answers: Answers, now: datetime, *, but: int) -> list[tuple[Day, QuizQuestion]]:
    """The questions that are due, longest due first, but those of day `but`: its quiz asks them anyway."""
    returning_questions: list[tuple[datetime, Day, QuizQuestion]] = []
    for day in days:
        for question in day.questions if day.number != but else ():
            back = due(answers.get((day.number, question.id), ()))
            if back is not None and back <= now:
                returning_questions.append((back, day, question))
    returning_questions.sort(key=lambda item: (item[0], item[1].number, item[2].id))
    return [(day, question) for _, day, question in returning_questions]
