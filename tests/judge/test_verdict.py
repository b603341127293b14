"""The records of a verdict and the fields that the command line prints."""

from __future__ import annotations

import json

import pytest

from gridstride.judge.verdict import Finding, Rejection, RungResult

RACE = Finding("race", "two threads write s[0]", line=7, thread={"block": (1, 0, 0), "thread": (3, 0, 0)})
WRONG = Finding("wrong_result", "C: transposed", pattern="transposed")


def test_a_rung_without_findings_passes() -> None:
    result = RungResult(rung="01_naive", title="", max_error=1e-7)
    assert (result.verdict, result.races, result.faults) == ("pass", 0, 0)


def test_json_has_the_fields_of_the_contract() -> None:
    assert list(RungResult(rung="01_naive", title="").json()) == [
        "rung",
        "verdict",
        "max_error",
        "races",
        "faults",
        "time_ms",
        "rounds",
        "interval_ms",
        "warm_ms",
        "multiprocessor_mhz",
        "predicted_ms",
        "speed_of_light",
        "limiter",
        "peers",
        "counters",
    ]


def test_check_adds_findings_with_kind_line_message_and_thread() -> None:
    told = RungResult(rung="k", title="", findings=(RACE, WRONG)).check_json()
    assert told["verdict"] == "fail"
    assert told["races"] == 1
    assert told["findings"] == [
        {"kind": "race", "line": 7, "message": "two threads write s[0]",
         "thread": {"block": [1, 0, 0], "thread": [3, 0, 0]}},
        {"kind": "wrong_result", "line": None, "message": "C: transposed", "thread": None},
    ]  # fmt: skip


@pytest.mark.parametrize(("kind", "faults"), [("out_of_bounds", 1), ("timeout", 1), ("wrong_result", 0), ("race", 0)])
def test_faults_are_what_stops_a_kernel_or_touches_what_is_not_its_own(kind: str, faults: int) -> None:
    assert RungResult(rung="k", title="", findings=(Finding(kind, ""),)).faults == faults


def test_an_infinite_error_is_still_json() -> None:
    text = json.dumps(RungResult(rung="k", title="", max_error=float("inf")).json(), allow_nan=False)
    assert json.loads(text)["max_error"] == "inf"


@pytest.mark.parametrize(
    ("expected", "lines", "rejected"),
    [
        ("race", {7, 9}, True),
        ("race", set(), True),
        ("race", {8}, False),
        ("out_of_bounds", {7}, False),
        ("wrong_result transposed", set(), True),
        ("wrong_result", set(), True),
        ("wrong_result tail", set(), False),
    ],
)
def test_a_wrong_kernel_is_rejected_only_for_its_own_fault(expected: str, lines: set[int], rejected: bool) -> None:
    rejection = Rejection("k", "", expected, frozenset(lines), (RACE, WRONG))
    assert (rejection.match is not None) == rejected
    assert rejection.json()["verdict"] == ("rejected" if rejected else "missed")
