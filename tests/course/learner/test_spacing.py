"""When questions come back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gridstride.course.learner.spacing import DAYS, due

START = datetime(2026, 1, 1, tzinfo=UTC)
HISTORIES = st.lists(st.tuples(st.integers(0, 90 * 24), st.booleans()), max_size=20).map(
    lambda answers: [(START + timedelta(hours=hours), right) for hours, right in sorted(answers)]
)


def test_what_was_never_answered_does_not_come_back() -> None:
    assert due([]) is None


def test_right_answers_when_due_space_it_1_3_7_and_21_days_and_then_it_is_learnt() -> None:
    at, answers, gaps = START, [(START, True)], []
    while (back := due(answers)) is not None:
        gaps.append((back - at).days)
        at = back
        answers.append((at, True))
    assert gaps == [1, 3, 7, 21]


@given(HISTORIES)
def test_it_never_comes_back_within_a_day_of_a_wrong_answer_nor_later(answers: list[tuple[datetime, bool]]) -> None:
    wrong = [*answers, (START + timedelta(days=91), False)]
    assert due(wrong) == wrong[-1][0] + timedelta(days=1)


@given(HISTORIES, st.integers(1, 23))
def test_a_right_answer_before_it_is_due_changes_nothing(answers: list[tuple[datetime, bool]], hours: int) -> None:
    back = due(answers)
    if back is not None:
        early = (back - timedelta(hours=hours), True)
        if early[0] >= answers[-1][0]:
            assert due([*answers, early]) == back


@given(HISTORIES)
def test_it_comes_back_after_one_of_the_steps_from_an_answer(answers: list[tuple[datetime, bool]]) -> None:
    back = due(answers)
    if back is not None:
        assert any(back == at + timedelta(days=days) for at, _ in answers for days in DAYS)


@given(HISTORIES)
def test_right_answers_when_due_end_it_in_five_at_most(answers: list[tuple[datetime, bool]]) -> None:
    for _ in range(len(DAYS) + 1):
        back = due(answers)
        if back is None:
            break
        answers = [*answers, (max(back, answers[-1][0]), True)]
    assert due(answers) is None
