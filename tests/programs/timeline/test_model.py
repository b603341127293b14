"""The modelled timeline, driven as the runtime drives it: needs no compiler."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridstride.programs.timeline.durations import Work
from gridstride.programs.timeline.model import HOST_TO_HOST, LEGACY, TO_HOST, WITHIN, Timeline
from gridstride.programs.timeline.schedule import Engine
from gridstride.programs.timeline.summary import totals
from gridstride.virtual.chips import chip, names

from .timelines import FULL, HALF, MB, ONE, THREE, TWO, done, to_device, with_streams


def to_host(timeline: Timeline, stream: int, nbytes: int = MB) -> None:
    timeline.copy(nbytes, TO_HOST, stream, pageable=False, waits=False)


# -- durations --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", names())
def test_a_copy_takes_its_bytes_over_the_link_after_a_start(name: str) -> None:
    timeline = with_streams(name)
    to_device(timeline, ONE, 10 * MB)
    (copy,) = done(timeline)
    times = chip(name).timeline
    assert copy.us == pytest.approx(times["copy_us"] + 10 * MB / (1e3 * times["link_gb_per_s"]))


@pytest.mark.parametrize("name", names())
def test_pageable_memory_is_slower_and_the_host_waits(name: str) -> None:
    pinned, pageable = with_streams(name), with_streams(name)
    to_device(pinned, ONE)
    to_device(pageable, ONE, pageable=True)
    assert pinned.waited_us == 0
    assert pageable.now_us > done(pageable)[0].end_us
    assert done(pageable)[0].us > done(pinned)[0].us


def test_a_copy_within_the_device_reads_and_writes_its_memory(timeline: Timeline) -> None:
    timeline.copy(100 * MB, WITHIN, ONE, pageable=False, waits=True)
    assert timeline.waited_us == 0  # cudaMemcpy within the device comes back at once
    (copy,) = done(timeline)
    assert copy.engine is Engine.COMPUTE
    assert copy.us == pytest.approx(200 * MB / 4.26e6, rel=0.05)


def test_a_copy_within_the_host_is_done_when_the_call_comes_back(timeline: Timeline) -> None:
    timeline.copy(MB, HOST_TO_HOST, LEGACY, pageable=True, waits=True)
    assert done(timeline)[0].end_us < timeline.now_us


# -- order ------------------------------------------------------------------------------------------------------------
def test_one_stream_is_the_sum_of_its_operations(timeline: Timeline) -> None:
    to_device(timeline, ONE)
    timeline.launch("k", FULL, ONE)
    to_host(timeline, ONE)
    operations = done(timeline)
    assert totals(timeline).modelled_us == pytest.approx(sum(each.us for each in operations))
    assert totals(timeline).overlap_us == 0


def test_two_streams_overlap_copies_and_kernels(timeline: Timeline) -> None:
    for stream in (ONE, TWO):
        to_device(timeline, stream)
        timeline.launch("k", FULL, stream)
        to_host(timeline, stream)
    first_in, first_kernel, first_out, second_in, second_kernel, second_out = done(timeline)
    assert second_in.start_us == first_in.end_us  # one engine for each direction
    assert first_kernel.start_us < second_in.end_us
    assert second_kernel.start_us == first_kernel.end_us  # each of them fills the chip
    assert second_out.start_us == max(second_kernel.end_us, first_out.end_us)
    assert totals(timeline).overlap_us > 0


def test_kernels_that_leave_room_run_side_by_side(timeline: Timeline) -> None:
    for stream in (ONE, TWO, THREE):
        timeline.launch("k", HALF, stream)
    one, two, three = done(timeline)
    assert two.start_us < one.end_us
    assert three.start_us == one.end_us


def test_the_legacy_stream_waits_for_all_and_all_wait_for_it(timeline: Timeline) -> None:
    for stream in (ONE, LEGACY, TWO):
        timeline.launch("k", HALF, stream)
    one, legacy, two = done(timeline)
    assert one.end_us == legacy.start_us
    assert legacy.end_us == two.start_us


def test_a_non_blocking_stream_does_neither() -> None:
    timeline = with_streams("h200", blocking=False)
    timeline.launch("k", HALF, ONE)
    timeline.launch("k", HALF, LEGACY)
    one, legacy = done(timeline)
    assert legacy.start_us < one.end_us


def test_a_stream_waits_for_an_event_of_another(timeline: Timeline) -> None:
    timeline.launch("first", HALF, ONE)
    timeline.record(7, ONE)
    timeline.launch("later", HALF, ONE)
    timeline.follow(TWO, 7)
    timeline.launch("waits", HALF, TWO)
    first, _, waits = done(timeline)
    assert waits.start_us == first.end_us


def test_an_event_that_was_never_recorded_is_not_waited_for(timeline: Timeline) -> None:
    timeline.launch("first", HALF, ONE)
    timeline.follow(TWO, 7)
    timeline.launch("k", HALF, TWO)
    first, other = done(timeline)
    assert other.start_us < first.end_us


def test_the_higher_priority_goes_first_when_both_could(timeline: Timeline) -> None:
    timeline.add_stream(400, blocking=True, priority=-5)
    timeline.launch("fills the chip", FULL, ONE)
    timeline.launch("low", FULL, TWO)
    timeline.launch("high", FULL, 400)
    _, low, high = done(timeline)
    assert high.end_us == low.start_us


def test_what_is_given_later_goes_first_where_it_can_begin_first(timeline: Timeline) -> None:
    timeline.launch("k", FULL, ONE)
    to_host(timeline, ONE)  # waits for the kernel
    to_host(timeline, TWO)
    _, waits, free = done(timeline)
    assert free.end_us < waits.start_us


# -- the host ---------------------------------------------------------------------------------------------------------
def test_launches_cost_the_host_and_come_back_at_once(timeline: Timeline) -> None:
    timeline.launch("k", FULL, ONE)
    assert timeline.now_us == timeline.times["launch_call_us"]
    timeline.wait_for_stream(ONE)
    assert timeline.now_us == pytest.approx(done(timeline)[0].end_us + timeline.times["wake_us"])


def test_small_kernels_in_a_row_are_as_slow_as_their_launches(timeline: Timeline) -> None:
    for _ in range(100):
        timeline.launch("k", Work(1.5, {"blocks": 0.1}), ONE)
    operations = done(timeline)
    gaps = [b.start_us - a.start_us for a, b in pairwise(operations)]
    assert gaps == pytest.approx([timeline.times["launch_call_us"]] * 99)


def test_elapsed_time_is_that_of_the_work_between(timeline: Timeline) -> None:
    timeline.launch("before", FULL, ONE)
    timeline.record(1, ONE)
    timeline.launch("k", FULL, ONE)
    timeline.record(2, ONE)
    assert timeline.elapsed_ms(1, 2) is None  # not yet
    timeline.wait_for_event(2)
    assert timeline.elapsed_ms(1, 2) == pytest.approx(0.05)


def test_events_in_another_stream_do_not_see_the_kernel(timeline: Timeline) -> None:
    timeline.record(1, TWO)
    timeline.launch("k", FULL, ONE)
    timeline.record(2, TWO)
    timeline.wait_for_all()
    elapsed = timeline.elapsed_ms(1, 2)
    assert elapsed is not None
    assert elapsed < 0.01


def test_an_event_has_happened_when_the_hosts_clock_has_come_to_it(timeline: Timeline) -> None:
    timeline.launch("k", FULL, ONE)
    timeline.record(1, ONE)
    polls = 0
    while not timeline.has_happened(1):
        polls += 1
    assert polls == pytest.approx(50 / timeline.times["call_us"], abs=6)
    assert timeline.is_done(ONE)


def test_memory_from_a_pool_costs_less_than_cudamalloc(timeline: Timeline) -> None:
    timeline.queued()
    pool = timeline.now_us
    timeline.allocated()
    assert timeline.now_us - pool > 10 * pool


# -- laws -------------------------------------------------------------------------------------------------------------
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["in", "out", "full", "half", "fill", "host", "record", "follow", "wait", "pageable"]),
        st.sampled_from([LEGACY, ONE, TWO, THREE]),
    ),
    max_size=40,
)


def play(timeline: Timeline, calls: list[tuple[str, int]]) -> None:
    for call, stream in calls:
        {
            "in": lambda s: to_device(timeline, s), "out": lambda s: to_host(timeline, s),
            "full": lambda s: timeline.launch("full", FULL, s), "half": lambda s: timeline.launch("half", HALF, s),
            "fill": lambda s: timeline.fill(MB, s), "host": timeline.host_function,
            "record": lambda s: timeline.record(1, s), "follow": lambda s: timeline.follow(s, 1),
            "wait": timeline.wait_for_stream, "pageable": lambda s: to_device(timeline, s, pageable=True),
        }[call](stream)  # fmt: skip


def test_two_that_wait_for_a_full_chip_both_wait(timeline: Timeline) -> None:
    for work, stream in ((FULL, THREE), (HALF, ONE), (HALF, TWO)):
        timeline.launch("step", work, stream)
    full, *halves = done(timeline)
    assert [each.start_us for each in halves] == [full.end_us] * 2


@settings(deadline=None, max_examples=150)
@given(CALLS)
def test_the_length_lies_between_the_busiest_engine_and_the_sum(calls: list[tuple[str, int]]) -> None:
    timeline = with_streams("h200")
    play(timeline, calls)
    operations = done(timeline)
    found = totals(timeline)
    assert len(operations) == sum(call not in ("record", "follow", "wait") for call, _ in calls)
    busiest = max(found.compute_us, found.to_device_us, found.to_host_us)
    assert busiest <= found.modelled_us + 1e-6
    assert found.modelled_us <= sum(each.us for each in operations) + found.host_us + timeline.times["begin_us"] + 1e-6
    assert found.idle_us >= -1e-6
    for stream in {each.stream for each in operations}:
        mine = [each for each in operations if each.stream == stream]
        assert all(b.start_us >= a.end_us for a, b in pairwise(mine))
    for engine in (Engine.TO_DEVICE, Engine.TO_HOST, Engine.HOST):
        queue = sorted((e.start_us, e.end_us) for e in operations if e.engine is engine)
        assert all(b[0] >= a[1] - 1e-9 for a, b in pairwise(queue))
    at_once = [
        sum(other.demand["blocks"] for other in operations if "blocks" in other.demand
            and other.start_us <= each.start_us < other.end_us)
        for each in operations
    ]  # fmt: skip
    assert all(share <= 1 + 1e-9 for share in at_once)


@settings(deadline=None, max_examples=100)
@given(CALLS)
def test_asking_earlier_changes_nothing(calls: list[tuple[str, int]]) -> None:
    """A query places what is certain by then, and nothing else."""
    asked, not_asked = with_streams("h200"), with_streams("h200")
    for call in calls:
        play(not_asked, [call])
        play(asked, [call])
        asked.schedule.place(until_us=asked.now_us)
    assert [each.start_us for each in done(asked)] == [each.start_us for each in done(not_asked)]
