"""The modelled timeline, driven as the runtime drives it: needs no compiler."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridstride.programs.timeline.durations import Work
from gridstride.programs.timeline.model import HOST_TO_HOST, LEGACY, TO_DEVICE, TO_HOST, WITHIN, Timeline
from gridstride.programs.timeline.order import Touch
from gridstride.programs.timeline.schedule import Engine, Operation
from gridstride.programs.timeline.summary import bubbles, overlap, report, totals, union, work_of
from gridstride.virtual.chips import chip, names

MB = 1 << 20
ONE, TWO, THREE = 100, 200, 300  # streams, as addresses of the runtime's
FULL = Work(50.0, {"blocks": 1.0})
HALF = Work(50.0, {"blocks": 0.5})


@pytest.fixture
def timeline() -> Timeline:
    return with_streams("h200")


def with_streams(name: str, *, blocking: bool = True) -> Timeline:
    timeline = Timeline(chip(name))
    for each in (ONE, TWO, THREE):
        timeline.add_stream(each, blocking=blocking, priority=0)
    return timeline


def to_device(timeline: Timeline, stream: int, nbytes: int = MB, *, pageable: bool = False) -> None:
    timeline.copy(nbytes, TO_DEVICE, stream, pageable=pageable, waits=False)


def to_host(timeline: Timeline, stream: int, nbytes: int = MB) -> None:
    timeline.copy(nbytes, TO_HOST, stream, pageable=False, waits=False)


def done(timeline: Timeline) -> list[Operation]:
    """In the order in which they were given."""
    timeline.finish()
    return sorted(work_of(timeline), key=lambda each: each.number)


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


# -- graphs -----------------------------------------------------------------------------------------------------------
def test_an_instance_costs_the_host_more_than_taking_over_another_graph_and_that_more_than_one_node() -> None:
    hosts = {}
    for call in ("instantiated", "updated", "node set", "launched"):
        timeline = with_streams("h200")
        timeline.graph_call(call, 20)
        hosts[call] = timeline.now_us
    assert hosts["instantiated"] > hosts["updated"] > hosts["node set"] > hosts["launched"] == 0


def test_a_graph_is_cheaper_than_its_launches() -> None:
    small = Work(3.0, {"blocks": 0.1})
    launches, graph = with_streams("h200"), with_streams("h200")
    for _ in range(20):
        launches.launch("k", small, ONE)
    graph.begin_graph(ONE, 20)
    for node in range(20):
        graph.node(node, [node - 1] if node else [])
        graph.launch("k", small, ONE)
    graph.end_graph()
    assert graph.now_us < launches.now_us / 5
    assert len(done(graph)) == len(done(launches)) == 20
    assert totals(graph).modelled_us < totals(launches).modelled_us


def test_nodes_run_as_their_edges_say_and_the_stream_after_them(timeline: Timeline) -> None:
    timeline.begin_graph(ONE, 3)
    for node, after in ((1, []), (2, []), (3, [1])):
        timeline.node(node, after)
        timeline.launch(f"node {node}", HALF, LEGACY)
    timeline.end_graph()
    timeline.launch("after", HALF, ONE)
    one, two, three, after = done(timeline)
    assert one.start_us == two.start_us
    assert three.start_us == one.end_us
    assert after.start_us == three.end_us
    assert [each.graph for each in (one, three, after)] == [1, 1, 0]


def test_a_childs_nodes_stand_where_the_child_does(timeline: Timeline) -> None:
    timeline.begin_graph(ONE, 3)
    timeline.node(1, [])
    timeline.launch("before", HALF, LEGACY)
    timeline.node(2, [1])
    timeline.begin_graph(LEGACY, 1)
    timeline.node(20, [])
    timeline.launch("inside", HALF, LEGACY)
    timeline.end_graph()
    timeline.node(3, [2])
    timeline.launch("behind", HALF, LEGACY)
    timeline.end_graph()
    before, inside, behind = done(timeline)
    assert before.end_us == inside.start_us
    assert inside.end_us == behind.start_us


def test_a_node_that_is_switched_off_still_stands_between_others(timeline: Timeline) -> None:
    timeline.begin_graph(ONE, 3)
    timeline.node(1, [])
    timeline.launch("first", HALF, LEGACY)
    timeline.node(2, [1])
    timeline.node(3, [2])
    timeline.launch("last", HALF, LEGACY)
    timeline.end_graph()
    first, last = done(timeline)
    assert last.start_us == first.end_us


def test_a_condition_takes_time_on_the_device_and_none_of_the_host(timeline: Timeline) -> None:
    timeline.begin_graph(ONE, 1)
    timeline.node(1, [])
    given = timeline.now_us
    for _ in range(2):
        timeline.graph_call("condition", 1)
        timeline.begin_graph(LEGACY, 1)
        timeline.node(10, [])
        timeline.launch("body", HALF, LEGACY)
        timeline.end_graph()
    timeline.graph_call("condition", 1)
    timeline.end_graph()
    timeline.launch("after", HALF, ONE)
    first, body, second, again, third, after = done(timeline)
    assert [each.kind for each in (first, second, third)] == ["condition"] * 3
    assert first.end_us - first.start_us == pytest.approx(timeline.times["condition_us"])
    assert [body.start_us, second.start_us, again.start_us] == [first.end_us, body.end_us, second.end_us]
    assert third.end_us == after.start_us
    assert timeline.now_us == given + timeline.times["launch_call_us"]


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


# -- order ------------------------------------------------------------------------------------------------------------
def piece(number: int, *, writes: bool) -> list[Touch]:
    return [Touch(number * MB, (number + 1) * MB, writes)]


@pytest.mark.parametrize("number", [0, 1])
def test_two_streams_on_the_same_bytes_need_an_event(timeline: Timeline, number: int) -> None:
    timeline.copy(MB, TO_DEVICE, ONE, pageable=False, waits=False, touches=piece(0, writes=True))
    timeline.launch("k", HALF, TWO, touches=piece(number, writes=True))
    assert timeline.order.count == (number == 0)  # another piece of the array is nobody else's


@pytest.mark.parametrize("how", ["event", "host", "legacy stream", "both read"])
def test_what_is_ordered_is_no_pair(how: str) -> None:
    timeline = with_streams("h200")
    writes = how != "both read"
    timeline.launch("first", HALF, ONE, touches=piece(0, writes=writes))
    if how == "event":
        timeline.record(1, ONE)
        timeline.follow(THREE, 1)
        timeline.record(2, THREE)  # and on from there
        timeline.follow(TWO, 2)
    elif how == "host":
        timeline.wait_for_stream(ONE)
    elif how == "legacy stream":
        timeline.launch("between", HALF, LEGACY)
    timeline.launch("second", HALF, TWO, touches=piece(0, writes=writes))
    assert timeline.order.count == 0


def test_an_event_recorded_too_early_orders_nothing_that_comes_after_it(timeline: Timeline) -> None:
    timeline.record(1, ONE)
    timeline.launch("first", HALF, ONE, touches=piece(0, writes=True))
    timeline.follow(TWO, 1)
    timeline.launch("second", HALF, TWO, touches=piece(0, writes=False))
    assert timeline.order.count == 1
    ((first, second, nbytes),) = timeline.order.pairs
    assert (first.name, second.name, nbytes) == ("first", "second", MB)


def test_time_orders_nothing(timeline: Timeline) -> None:
    """Though the copy has ended long before the kernel begins."""
    timeline.copy(MB, TO_DEVICE, ONE, pageable=False, waits=False, touches=piece(0, writes=True))
    timeline.launch("long", Work(1e6, {"blocks": 1.0}), TWO)
    timeline.launch("k", HALF, TWO, touches=piece(0, writes=False))
    assert timeline.order.count == 1


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


# -- memory that is taken and given back in the order of a stream ------------------------------------------------------
MEMORY = Touch(4096, 8192, True)


@pytest.mark.parametrize(
    ("taken", "used", "back", "pairs"),
    [(ONE, ONE, ONE, 0), (TWO, ONE, ONE, 2), (ONE, ONE, TWO, 2), (TWO, ONE, TWO, 2), (ONE, TWO, ONE, 2)],
)
def test_whoever_uses_memory_of_a_pool_comes_behind_its_allocation_and_before_its_release(
    taken: int, used: int, back: int, pairs: int
) -> None:
    timeline = with_streams("h200", blocking=False)
    timeline.pool_memory(taken, MEMORY, allocated=True)
    timeline.launch("k", FULL, used, touches=[MEMORY])
    timeline.pool_memory(back, MEMORY, allocated=False)
    assert timeline.order.count == pairs


def test_events_put_it_in_order() -> None:
    timeline = with_streams("h200", blocking=False)
    timeline.pool_memory(ONE, MEMORY, allocated=True)
    timeline.record(1, ONE)
    timeline.follow(TWO, 1)
    timeline.launch("k", FULL, TWO, touches=[MEMORY])
    timeline.record(2, TWO)
    timeline.follow(ONE, 2)
    timeline.pool_memory(ONE, MEMORY, allocated=False)
    assert timeline.order.count == 0


def test_memory_that_is_given_anew_has_no_history() -> None:
    """The pool itself sees to it that the next owner comes behind the last."""
    timeline = with_streams("h200", blocking=False)
    for stream in (ONE, TWO):
        timeline.order.given_anew(MEMORY.start, MEMORY.end)
        timeline.pool_memory(stream, MEMORY, allocated=True)
        timeline.launch("k", FULL, stream, touches=[MEMORY])
        timeline.pool_memory(stream, MEMORY, allocated=False)
    assert timeline.order.count == 0
