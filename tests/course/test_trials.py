"""The record of trials: who tried a day with the lesson alone, where they stumbled, and what was mended for it."""

from __future__ import annotations

import json
import math
from datetime import date
from typing import Any

import pytest

from gridstride.course.content import course_folder, day, day_numbers

TRIALS: list[dict[str, Any]] = json.loads((course_folder() / "trials.json").read_text())
KINDS = {"day": int, "date": str, "reader": str, "questions": int, "right": int, "attempts": int, "hints": int,
         "passed": bool, "minutes": float | int, "stumbles": list}  # fmt: skip
WHERE = {"lesson", "quiz", "lab", "commands"}
MOST_ATTEMPTS = 3

every = pytest.mark.parametrize("trial", TRIALS, ids=lambda each: f"day{each['day']:03}-{each['reader'].split(',')[0]}")


@pytest.mark.parametrize("number", day_numbers())
def test_a_day_has_been_tried(number: int) -> None:
    assert number in {each["day"] for each in TRIALS}, f"nobody has tried day {number} with the lesson alone yet"


@every
def test_a_trial_has_what_a_trial_needs(trial: dict[str, Any]) -> None:
    assert {name: type(value) for name, value in trial.items() if not isinstance(value, KINDS[name])} == {}
    assert set(trial) == set(KINDS)
    assert trial["day"] in day_numbers()
    assert trial["right"] <= trial["questions"]
    assert trial["hints"] <= len(day(trial["day"]).lab.hints)
    assert date.fromisoformat(trial["date"]).year >= 2026


@every
def test_where_a_day_did_not_teach_what_it_asks_something_was_mended(trial: dict[str, Any]) -> None:
    """Five of six questions are answered and the lab is passed within three attempts."""
    enough = math.ceil(trial["questions"] * 5 / 6)
    taught = trial["right"] >= enough and trial["passed"] and trial["attempts"] <= MOST_ATTEMPTS
    assert taught or trial["stumbles"]


@every
def test_a_stumble_says_where_and_what_became_of_it(trial: dict[str, Any]) -> None:
    for stumble in trial["stumbles"]:
        assert set(stumble) == {"where", "what", "mended"}
        assert stumble["where"] in WHERE
        assert stumble["what"].strip()
        assert stumble["mended"].strip()
