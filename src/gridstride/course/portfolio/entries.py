"""What a portfolio shows of each passed lab, taken from progress. What was not recorded is left out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from gridstride.course.figures.arithmetic import names
from gridstride.course.figures.figures import LAB, counted, plain_number
from gridstride.course.learner.progress import AnswerRecord, LearnerProgress, RunRecord
from gridstride.course.learner.quiz import is_near
from gridstride.course.learner.standing import streak
from gridstride.course.lesson import Day, Figure

_MODELLED = frozenset({"predicted_ms"})  # what a figure may name that no run counts


@dataclass(frozen=True, slots=True)
class Measurement:
    """A figure of a passed lab. `origin` says what it was taken from; `prediction` is what the learner said before."""

    name: str
    value: str
    origin: str
    modelled: bool = False
    prediction: str = ""
    near: bool = False


@dataclass(frozen=True, slots=True)
class PassedLab:
    """One passed lab. `run` is the newest pass whose source was kept, else the newest pass."""

    day: Day
    run: RunRecord
    attempts: int
    hints: int
    solution_first: bool
    measurements: tuple[Measurement, ...]

    @property
    def page(self) -> str:
        """The name of its page."""
        return f"{self.day.name}.html"


@dataclass(frozen=True, slots=True)
class PortfolioRecord:
    """Everything that is shown: the passed labs in order, `written` days that the course has, days in a row."""

    entries: tuple[PassedLab, ...]
    written: int
    streak: int


def record(days: Sequence[Day], progress: LearnerProgress, today: date) -> PortfolioRecord:
    """What `progress` holds of these days."""
    entries = tuple(written for day in days if (written := entry(day, progress)) is not None)
    return PortfolioRecord(entries, len(days), streak(progress.active_times(), today))


def entry(day: Day, progress: LearnerProgress) -> PassedLab | None:
    """One day's; None where its lab has not been passed."""
    runs = progress.runs(day.number)
    first = next((number for number, run in enumerate(runs) if run.passed), None)
    if first is None:
        return None
    passes = [run for run in runs if run.passed]
    shown = next((run for run in reversed(passes) if run.source is not None), passes[-1])
    predictions = _predictions(day, progress.answers(day.number), runs[first].at)
    return PassedLab(day, shown, first + 1, progress.hints(day.number), progress.solution_seen_early(day.number),
                 tuple(_measurements(day, shown, predictions)))  # fmt: skip


def _predictions(day: Day, answers: Iterable[AnswerRecord], passed_at: datetime) -> dict[str, float]:
    """By figure, the first answer to its question: the quiz then tells the figure, and so does a pass."""
    figures = {question.id: question.figure for question in day.questions if question.figure}
    first: dict[str, AnswerRecord] = {}
    for answer in answers:
        if answer.question in figures:
            first.setdefault(figures[answer.question], answer)
    numbers = {figure: _number(answer.given) for figure, answer in first.items() if answer.at < passed_at}
    return {figure: number for figure, number in numbers.items() if number is not None}


def _number(text: str) -> float | None:
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _measurements(day: Day, run: RunRecord, predictions: dict[str, float]) -> Iterable[Measurement]:
    for name, value in run.measured.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            continue
        figure = day.figures.get(name)
        if figure is None:  # the lesson has been rewritten since, and its unit is not known any more
            yield Measurement(_words(name), plain_number(value), "")
            continue
        shown = Measurement(_words(name), counted(value, figure.unit), _origin(figure, day), _modelled(figure, day))
        question = next((question for question in day.questions if question.figure == name), None)
        if question is None or name not in predictions:
            yield shown
            continue
        prediction = predictions[name]
        yield Measurement(shown.name, shown.value, shown.origin, shown.modelled, plain_number(prediction),
                          is_near(question, prediction, value))  # fmt: skip


def _origin(figure: Figure, day: Day) -> str:
    """What a figure was taken from."""
    sources = {(leaf.run == LAB, bool(leaf.run), bool(leaf.record)) for leaf in _leaves(figure, day)}
    if any(own for own, _, _ in sources):
        return "this kernel"
    if any(run for _, run, _ in sources):
        return "the lesson's kernel"
    return "a recorded run on hardware" if any(is_recorded for _, _, is_recorded in sources) else "the chip's data"


def _modelled(figure: Figure, day: Day) -> bool:
    """Whether a time of the performance model goes into it."""
    return any(leaf.run and names(leaf.value) & _MODELLED for leaf in _leaves(figure, day))


def _leaves(figure: Figure, day: Day) -> Iterable[Figure]:
    """The figures that it is made of, down to those that come from a run, a chip or a record."""
    if not figure.of:
        yield figure
    for name in figure.of:
        yield from _leaves(day.figures[name], day)


def _words(name: str) -> str:
    return name.replace("_", " ")
