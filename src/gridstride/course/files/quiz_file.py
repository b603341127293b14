"""quiz.toml: a day's questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gridstride.course.files.strict_toml import TomlTable, read_table
from gridstride.course.lesson import LETTERS, Choice, Figure, QuizQuestion, Slip

_LEAST = 6
_LEAST_CHOICES = 3


def read(file: Path, figures: Mapping[str, Figure]) -> tuple[QuizQuestion, ...]:
    """The questions in their order; LessonError."""
    table = read_table(file)
    entries = table.list("question")
    table.done()
    questions: list[QuizQuestion] = []
    for entry in entries:
        question = _question(entry, figures)
        if question.id in {question.id for question in questions}:
            entry.fail(f"there are two questions {question.id!r}", "id")
        questions.append(question)
    if len(questions) < _LEAST:
        table.fail(f"{len(questions)} questions: at least {_LEAST} are needed")
    if not any(question.figure for question in questions):
        table.fail("no question predicts a figure: one or more must have `figure`")
    return tuple(questions)


def _question(table: TomlTable, figures: Mapping[str, Figure]) -> QuizQuestion:
    name, ask = table.take("id", str), table.take("ask", str)
    figure = table.take("figure", str, "")
    question = _predicted(table, name, ask, figure, figures) if figure else _chosen(table, name, ask)
    table.done()
    return question


def _chosen(table: TomlTable, name: str, ask: str) -> QuizQuestion:
    entries = table.list("choice")
    choices = []
    for entry in entries:
        choices.append(Choice(entry.take("text", str), entry.take("why", str)))
        entry.done()
    answer = table.take("answer", str)
    if not _LEAST_CHOICES <= len(choices) <= len(LETTERS):
        table.fail(f"question {name} has {len(choices)} choices: from {_LEAST_CHOICES} to {len(LETTERS)} are needed")
    if len(answer) != 1 or answer not in LETTERS[: len(choices)]:
        table.fail(f"answer is {answer!r}, but the choices are a to {LETTERS[len(choices) - 1]}", "answer")
    if len({choice.text for choice in choices}) < len(choices):
        table.fail(f"question {name} has two choices that say the same", "choice")
    return QuizQuestion(name, ask, tuple(choices), answer)


def _predicted(table: TomlTable, name: str, ask: str, figure: str, figures: Mapping[str, Figure]) -> QuizQuestion:
    if figure not in figures:
        table.fail(f"there is no figure {figure!r} in figures.toml: there are {', '.join(figures)}", "figure")
    if any(figures[name].record for name in (figure, *figures[figure].of)):
        table.fail(f"figure {figure} is a recorded one: nobody can measure it on their own machine", "figure")
    tolerance = table.take("tolerance", float, 0.0)
    if not 0 <= tolerance < 0.5:
        table.fail(f"tolerance is {tolerance}: a share from 0 to 0.5 belongs there", "tolerance")
    return QuizQuestion(name, ask, figure=figure, tolerance=tolerance, why=table.take("why", str), slips=slips(table))


def slips(table: TomlTable) -> tuple[Slip, ...]:
    """What is often given instead of what is right, each with what it means."""
    entries = []
    for entry in table.list("slip", needed=False):
        entries.append(Slip(entry.take("value", float), entry.take("why", str)))
        entry.done()
    return tuple(entries)
