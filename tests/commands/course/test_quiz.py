"""gridstride quiz: answers in the terminal and on the command line, and questions that come back."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridstride.course.content import day

Run = Callable[..., Any]


def test_a_quiz_in_the_terminal_asks_again_for_what_is_no_answer(run: Run) -> None:
    answers = {"requests": "626", "bandwidth": "3.35"} | {q.id: q.answer for q in day(1).questions if q.choices}
    typed = "none\n" + "".join(f"{answers[question.id]}\n" for question in day(1).questions)
    outcome = run("quiz", "1", typed=typed)
    assert outcome.code == 0
    assert "'none' is no answer: give a number" in outcome.out
    assert "7 of 7 right" in outcome.out


def test_a_quiz_that_is_left_keeps_what_was_answered(run: Run) -> None:
    outcome = run("quiz", "1", typed="4,096\n")
    assert outcome.code == 1
    assert "626 load requests measured; you said 4,096" in outcome.out
    assert "0 of 1 right; the rest waits" in outcome.out
    assert run("progress", "--json").json["days"][0]["asked"] == 1


def test_a_quiz_goes_on_where_it_was_left_and_comes_back_to_what_was_wrong(run: Run) -> None:
    first, second, third, fourth, *rest = day(1).questions
    wrong = next(letter for letter in "ab" if letter != fourth.answer)
    run("quiz", "1", "--answer", f"{third.id}={third.answer}", "--answer", f"{fourth.id}={wrong}")
    said = run("quiz", "1", typed="1\n" * 2 + "a\n" * 5).out
    in_turn = [name for name in re.findall(r"\(([a-z-]+)\)", said) if name in {each.id for each in day(1).questions}]
    assert in_turn == [first.id, second.id, *(each.id for each in rest), fourth.id, third.id]


def test_questions_of_earlier_days_come_back(run: Run, mine: Path) -> None:
    run("quiz", "1", "--answer", "twice=a", "--answer", "limit=b")
    assert len(run("quiz", "5", "--json").json["questions"]) == len(day(5).questions)
    database = sqlite3.connect(mine / "progress.sqlite")
    database.execute("UPDATE answer SET at = '2026-01-01T00:00:00.000+00:00'")
    database.commit()
    database.close()
    back = run("quiz", "5", "--json").json["questions"][len(day(5).questions) :]
    assert {(each["day"], each["question"]) for each in back} == {(1, "twice"), (1, "limit")}
    assert run("progress", "--json").json["due"] == 2


def test_a_wrong_answer_on_the_command_line_records_none(run: Run) -> None:
    outcome = run("quiz", "1", "--answer", "twice=b", "--answer", "limit=z")
    assert outcome.code == 2
    assert "--answer limit=z" in outcome.err
    assert run("progress", "--json").json["days"][0]["asked"] == 0


def test_nothing_is_measured_where_one_answer_is_none(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from gridstride.course.figures import worked_kernels

    monkeypatch.setattr(worked_kernels.WorkedKernels, "value", lambda *_: pytest.fail("a prediction was measured"))
    numbers = [each for each in run("quiz", "5", "--json").json["questions"] if not each["choices"]]
    letters = [each for each in run("quiz", "5", "--json").json["questions"] if each["choices"]]
    answers = ["--answer", f"{numbers[0]['question']}=4", "--answer", f"{letters[0]['question']}=2"]
    outcome = run("quiz", "5", *answers)
    assert outcome.code == 2
    assert "give a letter from a to" in outcome.out + outcome.err


def test_answers_on_the_command_line_are_told_apart_by_their_ids(run: Run) -> None:
    said = run("quiz", "1", "--answer", "twice=b", "--answer", "limit=a").out
    assert said.index("twice=b") < said.index("  right: ") < said.index("limit=a") < said.index("  not right: ")


def test_help_of_quiz_says_how_it_exits(run: Run) -> None:
    assert "Exits with 0 where every answer was right" in " ".join(run("quiz", "--help").out.split())
