"""A timeline as text."""

from __future__ import annotations

from typing import Any

import pytest

from gridstride.programs.timeline.durations import Work
from gridstride.programs.timeline.model import TO_DEVICE, TO_HOST, Timeline
from gridstride.programs.timeline.picture import lines
from gridstride.programs.timeline.summary import report
from gridstride.virtual.chips import chip

MB = 1 << 20


def told(*, pieces: int, waits: bool = False) -> dict[str, Any]:
    timeline = Timeline(chip("h200"))
    for stream in (100, 200):
        timeline.add_stream(stream, blocking=True, priority=0)
    for piece in range(pieces):
        stream = 100 * (piece % 2 + 1)
        timeline.copy(MB, TO_DEVICE, stream, pageable=False, waits=False)
        timeline.launch("scale", Work(19.0, {"blocks": 1.0}), stream)
        timeline.copy(MB, TO_HOST, stream, pageable=False, waits=False)
        if waits:
            timeline.wait_for_stream(stream)
    timeline.finish()
    return report(timeline, counted=1, reused=pieces - 1)


def bars(shown: list[str]) -> dict[str, str]:
    return {line.split("|")[0].strip(): line.split("|")[1] for line in shown if line.count("|") == 2}


def test_streams_show_what_they_do_and_engines_when_they_are_busy() -> None:
    drawn = bars(lines(told(pieces=1), width=60))
    first, kernel, last = (drawn["stream 1"].count(mark) for mark in ">#<")
    assert (first, kernel, last) == (pytest.approx(20, abs=1), pytest.approx(19, abs=1), pytest.approx(20, abs=1))
    assert drawn["compute"].count("█") == pytest.approx(19, abs=1)
    assert list(drawn) == ["stream 1", "compute", "to device", "to host"]


def test_streams_that_overlap_have_marks_one_above_the_other() -> None:
    drawn = bars(lines(told(pieces=4)))
    assert any(a != " " and b != " " for a, b in zip(drawn["stream 1"], drawn["stream 2"], strict=True))


def test_the_bubble_says_between_what_it_lies_and_who_is_late() -> None:
    (bubble,) = [line for line in lines(told(pieces=2, waits=True)) if line.startswith("bubble")]
    assert "from copy to host pinned to copy to device pinned" in bubble
    assert "the host had not given" in bubble


def test_it_is_called_modelled_and_says_what_was_counted() -> None:
    shown = lines(told(pieces=4))
    assert shown[0].startswith("modelled for h200, not measured")
    assert "1 launch counted for the time of the kernel; 3 launches like one of these took its time" in shown


def test_a_long_table_says_how_much_is_missing() -> None:
    shown = lines(told(pieces=20), listed=10)
    assert shown[-1] == "… and 50 more: --json lists them"
    assert max(map(len, shown)) <= 100


def test_a_program_without_work_has_no_timeline() -> None:
    timeline = Timeline(chip("h200"))
    assert "no timeline" in lines(report(timeline, counted=0, reused=0))[0]
