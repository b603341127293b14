"""The figures of a timeline: spans, bubbles, and what lies between two events."""

from __future__ import annotations

import pytest

from gridstride.programs.timeline.model import Timeline
from gridstride.programs.timeline.summary import bubbles, overlap, report, totals, union, work_of

from .timelines import FULL, MB, ONE, TWO, to_device, with_streams


# -- figures ----------------------------------------------------------------------------------------------------------
def test_spans_are_joined_overlapped_and_missed() -> None:
    assert union([(3, 4), (0, 2), (1, 3), (6, 7)]) == [(0, 4), (6, 7)]
    assert overlap([[(0, 10)], [(2, 4), (8, 12)], [(3, 9)]]) == 8


def test_a_report_has_streams_engines_bytes_and_the_bubble(timeline: Timeline) -> None:
    to_device(timeline, ONE, 2 * MB)
    timeline.wait_for_stream(ONE)  # the host is waited for: a bubble
    timeline.launch("k", FULL, TWO)
    timeline.finish()
    told = report(timeline, counted=1, reused=0)
    assert [each["stream"] for each in told["streams"]] == [1, 2]
    assert {each["engine"]: each["bytes"] for each in told["engines"]}["to device"] == 2 * MB
    (gap,) = told["bubbles"]
    assert gap["end_us"] - gap["start_us"] == pytest.approx(told["idle_us"])
    assert [(each["kind"], each["name"]) for each in told["operations"]] == [
        ("copy to device", "pinned"),
        ("kernel", "k"),
    ]
    assert bubbles(work_of(timeline))[0] == (gap["start_us"], gap["end_us"])


def test_a_program_that_gave_nothing_to_the_device_has_no_length(timeline: Timeline) -> None:
    assert totals(timeline).modelled_us == 0


# -- what events time -------------------------------------------------------------------------------------------------
def test_what_lies_between_two_events_is_known_once_they_are_asked_for_their_time(timeline: Timeline) -> None:
    to_device(timeline, ONE)
    timeline.record(1, ONE)
    for _ in range(2):
        timeline.launch("k", FULL, ONE)
    timeline.record(2, ONE)
    timeline.launch("k", FULL, ONE)
    assert timeline.elapsed_ms(1, 2) is None  # the second event has not happened
    timeline.wait_for_all()
    assert totals(timeline).timed_us == 0
    elapsed = timeline.elapsed_ms(1, 2)
    timed = totals(timeline)
    assert elapsed is not None
    assert timed.timed_us == pytest.approx(1e3 * elapsed)
    assert timed.timed_compute_us == pytest.approx(2 * FULL.us)
    assert timed.timed_kernels == 2


def test_a_kernel_that_lies_half_between_two_events_is_timed_by_half_and_not_counted(timeline: Timeline) -> None:
    timeline = with_streams("h200", blocking=False)
    timeline.launch("k", FULL, ONE)
    timeline.record(1, TWO)
    timeline.wait_for_stream(ONE)
    timeline.record(2, TWO)
    timeline.wait_for_all()
    assert timeline.elapsed_ms(1, 2) is not None
    assert 0 < totals(timeline).timed_compute_us < FULL.us
    assert totals(timeline).timed_kernels == 0


def test_managed_memory_is_counted_and_moves_nothing(timeline: Timeline) -> None:
    timeline.allocated()
    timeline.allocated_managed()
    timeline.launch("k", FULL, ONE)
    timeline.wait_for_all()
    assert totals(timeline).managed_allocations == 1
    assert totals(timeline).to_device_us == totals(timeline).to_host_us == 0
