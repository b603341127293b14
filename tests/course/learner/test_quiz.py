"""Marking answers, and choosing what comes back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gridstride.course.content import day
from gridstride.course.learner.quiz import AnswerError, mark, question_json, returning

NOW = datetime(2026, 5, 1, tzinfo=UTC)
QUESTIONS = {question.id: question for question in day(5).questions}


def test_a_prediction_shows_the_guess_beside_what_was_counted() -> None:
    marked = mark(day(5), QUESTIONS["three"], "4")
    assert (marked.right, marked.measured) == (False, 12)
    assert marked.why.startswith("12 sectors per load request measured; you said 4. 4 is what 32 floats side by side")


def test_numbers_may_have_commas() -> None:
    assert mark(day(6), next(each for each in day(6).questions if each.id == "thirty-two"), " 131,072 ").right


@pytest.mark.parametrize(
    ("question", "given"), [("three", "many"), ("three", "nan"), ("ceiling", "d"), ("ceiling", "")]
)
def test_what_is_no_answer_is_not_marked(question: str, given: str) -> None:
    with pytest.raises(AnswerError, match="is no answer"):
        mark(day(5), QUESTIONS[question], given)


def test_a_wrong_choice_gets_its_own_reason_and_the_right_one() -> None:
    marked = mark(day(5), QUESTIONS["ceiling"], "A")
    assert not marked.right
    assert "Sectors are counted before any cache" in marked.why
    assert "Right is b" in marked.why


def test_a_question_without_its_answer_has_no_answer_in_it() -> None:
    shown = question_json(day(5), QUESTIONS["ceiling"])
    assert set(shown) == {"day", "question", "ask", "choices", "unit"}
    assert list(shown["choices"]) == ["a", "b", "c"]


def test_what_is_due_longest_comes_first_and_not_of_the_day_itself() -> None:
    answers = {
        (1, "twice"): [(NOW - timedelta(days=2), True)],
        (1, "limit"): [(NOW - timedelta(days=5), False)],
        (1, "cores"): [(NOW - timedelta(hours=5), True)],
        (5, "place"): [(NOW - timedelta(days=9), True)],
        (1, "gone from the quiz"): [(NOW - timedelta(days=9), True)],
    }
    back = returning([day(1), day(5)], answers, NOW, but=5)
    assert [(each.number, question.id) for each, question in back] == [(1, "limit"), (1, "twice")]
