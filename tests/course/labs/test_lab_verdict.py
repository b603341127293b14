"""What a lab says of a learner's file."""

from __future__ import annotations

import pytest

from gridstride.course.labs.lab_verdict import LabFinding, LabVerdict, with_line, with_words, without_more_time


@pytest.mark.parametrize(
    ("line", "shown"),
    [(2, ("wrong", "     2 | two")), (3, ("wrong",)), (0, ("wrong",)), (None, ("wrong",))],
)
def test_a_finding_is_shown_with_its_line_where_the_text_has_it(line: int | None, shown: tuple[str, ...]) -> None:
    assert with_line("wrong", "one\ntwo  \n", line) == shown


def test_more_words_go_to_the_message_and_to_what_is_shown() -> None:
    more = with_words(LabFinding("race", "a race", 3, shown=("a race", "     3 | x")), "see line 9")
    assert (more.message, more.shown) == ("a race; see line 9", ("a race; see line 9", "     3 | x"))


def test_a_lab_gives_no_more_time() -> None:
    message = "stopped (VirtualGPU(time_limit=…) or GRIDSTRIDE_TIME_LIMIT gives it longer) at line 3"
    assert without_more_time(message) == "stopped at line 3"


def test_a_verdict_passes_where_nothing_is_wrong() -> None:
    passed, failed = (LabVerdict(4, findings, 1.23456) for findings in ((), (LabFinding("race", "x"),)))
    assert (passed.passed, failed.passed) == (True, False)
    assert passed.json() == {
        "day": 4, "verdict": "pass", "findings": [], "measured": {}, "cases": 0, "seconds": 1.235,
    }  # fmt: skip
    assert failed.json()["findings"] == [{"kind": "race", "line": None, "where": "", "message": "x", "shown": []}]
