"""Where a learner stands."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from gridstride.course.content import day
from gridstride.course.learner.progress import LearnerProgress
from gridstride.course.learner.standing import next_day, standing, streak

TODAY = date(2026, 5, 10)


def at(days_ago: int) -> datetime:
    noon = datetime(TODAY.year, TODAY.month, TODAY.day, 12).astimezone()
    return noon - timedelta(days=days_ago)


@pytest.mark.parametrize(
    ("days_ago", "expected"), [((), 0), ((0,), 1), ((1,), 1), ((2,), 0), ((0, 0, 1, 2, 4), 3), ((1, 2, 3), 3)]
)
def test_a_streak_counts_days_up_to_today_or_yesterday(days_ago: tuple[int, ...], expected: int) -> None:
    assert streak([at(each) for each in days_ago], TODAY) == expected


def test_the_next_day_is_the_first_that_is_not_passed(tmp_path: Path) -> None:
    days = [day(1), day(5)]
    with LearnerProgress(tmp_path / "progress.sqlite") as progress:
        assert next_day(days, progress) is days[0]
        progress.record_run(1, passed=False, seconds=0.1)
        assert next_day(days, progress) is days[0]
        progress.record_run(1, passed=True, seconds=0.1)
        progress.record_run(1, passed=False, seconds=0.1)
        assert next_day(days, progress) is days[1]
        progress.record_run(5, passed=True, seconds=0.1)
        assert next_day(days, progress) is None


def test_the_last_answer_to_a_question_counts(tmp_path: Path) -> None:
    with LearnerProgress(tmp_path / "progress.sqlite") as progress:
        for right in (True, False):
            progress.record_answer(5, "place", "a", right=right)
        progress.record_answer(5, "lab", "4", right=True)
        progress.record_solution(5, passed=False)
        found = standing(day(5), progress)
    assert (found.right, found.asked, found.solution_first, found.passed) == (1, 2, True, False)
