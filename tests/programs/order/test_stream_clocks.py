"""Who comes before whom, by streams, events, graphs and the host's waiting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.programs.order.stream_clocks import LEGACY, Moment, StreamClocks

A, B, EVENT = 1 << 20, 1 << 21, 7


@pytest.fixture
def clocks() -> StreamClocks:
    made = StreamClocks()
    for stream in (A, B):
        made.add_stream(stream, apart=True, device=0)
    return made


def as_host(clocks: StreamClocks) -> Moment:
    return Moment(0, 0, clocks.host)


def test_a_stream_keeps_its_order(clocks: StreamClocks) -> None:
    first, second = clocks.work(A), clocks.work(A)
    assert second.knows(first)
    assert not first.knows(second)


def test_two_streams_have_none(clocks: StreamClocks) -> None:
    first, second = clocks.work(A), clocks.work(B)
    assert not second.knows(first)


def test_an_event_orders_what_was_given_before_it(clocks: StreamClocks) -> None:
    before = clocks.work(A)
    clocks.record(EVENT, A)
    after = clocks.work(A)
    clocks.follow(B, EVENT)
    consumer = clocks.work(B)
    assert consumer.knows(before)
    assert not consumer.knows(after)


def test_an_event_that_was_never_recorded_orders_nothing(clocks: StreamClocks) -> None:
    before = clocks.work(A)
    clocks.follow(B, EVENT)
    assert not clocks.work(B).knows(before)


def test_an_event_recorded_again_stands_for_its_last_place(clocks: StreamClocks) -> None:
    in_a = clocks.work(A)
    clocks.record(EVENT, A)
    in_b = clocks.work(B)
    clocks.record(EVENT, B)
    clocks.follow(LEGACY, EVENT)
    waiting = clocks.work(LEGACY)
    assert waiting.knows(in_b)
    assert not waiting.knows(in_a)


def test_the_legacy_stream_and_blocking_ones_wait_for_each_other() -> None:
    clocks = StreamClocks()
    clocks.add_stream(A, apart=False, device=0)
    clocks.add_stream(B, apart=True, device=0)
    blocking, apart = clocks.work(A), clocks.work(B)
    legacy = clocks.work(LEGACY)
    assert legacy.knows(blocking)
    assert not legacy.knows(apart)
    assert clocks.work(A).knows(legacy)
    assert not clocks.work(B).knows(legacy)


def test_another_gpus_legacy_stream_is_another(clocks: StreamClocks) -> None:
    first = clocks.work(LEGACY)
    assert not clocks.work(LEGACY + 2).knows(first)
    assert clocks.work(LEGACY, behind=(0, 1)).knows(first)
    assert clocks.work(LEGACY + 2).knows(first)


@pytest.mark.parametrize("wait", ["stream", "event", "device"])
def test_what_the_host_has_waited_for_is_before_all_that_follows(clocks: StreamClocks, wait: str) -> None:
    work = clocks.work(A)
    clocks.record(EVENT, A)
    assert not as_host(clocks).knows(work)
    {"stream": lambda: clocks.wait_for_stream(A), "event": lambda: clocks.wait_for_event(EVENT),
     "device": lambda: clocks.wait_for_device(0)}[wait]()  # fmt: skip
    assert as_host(clocks).knows(work)
    assert clocks.work(B).knows(work)


def test_waiting_for_one_stream_says_nothing_of_another(clocks: StreamClocks) -> None:
    work = clocks.work(A)
    clocks.work(B)
    clocks.wait_for_stream(B)
    assert not as_host(clocks).knows(work)
    assert clocks.is_outstanding(A)
    assert not clocks.is_outstanding(B)


def test_nodes_of_a_graph_are_ordered_by_its_edges(clocks: StreamClocks) -> None:
    before = clocks.work(A)
    clocks.begin_graph(A)
    clocks.node(1, [])
    first = clocks.work(A)
    clocks.node(2, [])
    beside = clocks.work(A)
    clocks.node(3, [1])
    last = clocks.work(A)
    clocks.end_graph()
    after = clocks.work(A)
    assert first.knows(before)
    assert last.knows(first)
    assert not last.knows(beside)
    assert not beside.knows(first)
    assert after.knows(beside)


def test_a_child_graph_comes_where_its_node_is(clocks: StreamClocks) -> None:
    clocks.begin_graph(A)
    clocks.node(1, [])
    first = clocks.work(A)
    clocks.node(2, [1])
    clocks.begin_graph(A)
    clocks.node(10, [])
    inside = clocks.work(A)
    clocks.end_graph()
    clocks.node(3, [2])
    last = clocks.work(A)
    clocks.node(4, [])
    beside = clocks.work(A)
    clocks.end_graph()
    assert inside.knows(first)
    assert last.knows(inside)
    assert not beside.knows(inside)


def test_an_event_that_a_node_records_stands_for_the_nodes_before_it(clocks: StreamClocks) -> None:
    clocks.begin_graph(A)
    clocks.node(1, [])
    before = clocks.work(A)
    clocks.node(2, [1])
    clocks.record(EVENT, A)
    clocks.node(3, [2])
    behind = clocks.work(A)
    clocks.node(4, [])
    beside = clocks.work(A)
    clocks.end_graph()
    clocks.follow(B, EVENT)
    waited = clocks.work(B)
    assert waited.knows(before)
    assert not waited.knows(behind)
    assert not waited.knows(beside)
    clocks.wait_for_event(EVENT)
    assert as_host(clocks).knows(before)
    assert not as_host(clocks).knows(behind)


@pytest.mark.parametrize("within_a_child", [False, True])
def test_what_a_node_waits_for_those_behind_it_know_and_who_follows_the_graph(
    clocks: StreamClocks, within_a_child: bool
) -> None:
    other = clocks.work(B)
    clocks.record(EVENT, B)
    clocks.begin_graph(A)
    clocks.node(1, [])
    if within_a_child:
        clocks.begin_graph(A)
        clocks.node(10, [])
    clocks.follow(A, EVENT)
    if within_a_child:
        clocks.end_graph()
    clocks.node(2, [1])
    behind = clocks.work(A)
    clocks.node(3, [])
    beside = clocks.work(A)
    clocks.end_graph()
    assert behind.knows(other)
    assert not beside.knows(other)
    assert clocks.work(A).knows(other)


def test_nodes_of_long_ago_are_forgotten(clocks: StreamClocks) -> None:
    for _ in range(100):
        clocks.begin_graph(A)
        for node in range(100):
            clocks.node(node, [node - 1] if node else [])
            last = clocks.work(A)
        clocks.node(100, [99])
        clocks.record(EVENT, A)
        clocks.end_graph()
        clocks.wait_for_event(EVENT)
        assert as_host(clocks).knows(last)
    assert len(clocks.host) < 5_000


@given(st.lists(st.tuples(st.sampled_from(["work", "record", "follow", "wait"]), st.integers(0, 2)), max_size=40))
def test_order_is_never_lost(steps: list[tuple[str, int]]) -> None:
    """Who is before another is before all that follows that one in its stream, too."""
    clocks, streams = StreamClocks(), [A, B, 1 << 22]
    for stream in streams:
        clocks.add_stream(stream, apart=True, device=0)
    made: list[Moment] = []
    for what, which in steps:
        stream = streams[which]
        if what == "record":
            clocks.record(EVENT, stream)
        elif what == "follow":
            clocks.follow(stream, EVENT)
        elif what == "wait":
            clocks.wait_for_stream(stream)
        else:
            moment = clocks.work(stream)
            for earlier in made:
                if earlier.stream == stream:
                    assert moment.knows(earlier)
                    assert all(moment.knows(other) for other in made if earlier.knows(other))
            made.append(moment)
