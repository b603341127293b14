"""Work is done when the host waits for it, with what it needs; of what nothing orders the last given comes first."""

from __future__ import annotations

import math

import pytest

from gridstride.programs.calls.late_work import LateWork
from gridstride.programs.calls.runtime_records import TIMELINE_CALLBACKS
from gridstride.programs.timeline.calls import NON_BLOCKING, WAITED_DEVICE, WAITED_EVENT, WAITED_FREE, WAITED_STREAM

LEGACY, OF_THREAD, A, B, APART = 1, 2, 0x10000, 0x20000, 0x30000
ELSEWHERE, C = 3, 0x40000
"""Streams of the second GPU."""
EVENT, LATER = 7, 8


class Made:
    """Four streams, one of them apart from the default one and one on a second GPU, and what was done."""

    def __init__(self) -> None:
        self.late, self.done = LateWork(), list[str]()
        for stream, flags, device in ((A, 0, 0), (B, 0, 0), (APART, NON_BLOCKING, 0), (C, 0, 1)):
            self.late.add_stream(stream, flags, 0, device)

    def give(self, name: str, stream: int) -> None:
        self.late.put_off(stream, lambda: self.done.append(name))


@pytest.fixture
def made() -> Made:
    return Made()


def test_a_wait_for_a_stream_does_what_that_stream_was_given(made: Made) -> None:
    for name, stream in (("a1", A), ("b1", B), ("a2", A), ("b2", B)):
        made.give(name, stream)
    assert made.done == []
    made.late.waited(WAITED_STREAM, A)
    assert made.done == ["a1", "a2"]
    made.late.waited(WAITED_STREAM, A)
    assert made.done == ["a1", "a2"]
    made.late.waited(WAITED_DEVICE, 0)
    assert made.done[2:] == ["b1", "b2"]


@pytest.mark.parametrize("what", [WAITED_DEVICE, WAITED_FREE])
def test_of_streams_that_nothing_orders_the_last_given_comes_first(made: Made, what: int) -> None:
    for name, stream in (("a1", A), ("b1", B), ("a2", A), ("apart", APART)):
        made.give(name, stream)
    made.late.waited(what, 0)
    assert made.done == ["apart", "b1", "a1", "a2"]


def test_an_event_is_what_its_stream_had_been_given(made: Made) -> None:
    made.give("before", A)
    made.late.record(EVENT, A)
    made.give("behind", A)
    made.late.waited(WAITED_EVENT, EVENT)
    assert made.done == ["before"]


def test_a_stream_that_follows_an_event_is_waited_for_with_it(made: Made) -> None:
    made.give("a", A)
    made.late.record(EVENT, A)
    made.late.waited(WAITED_STREAM, B)
    assert made.done == []
    made.late.follow(B, EVENT)
    made.late.waited(WAITED_STREAM, B)
    assert made.done == ["a"]


def test_the_default_stream_comes_between_what_was_given_before_and_behind_it(made: Made) -> None:
    for name, stream in (("a", A), ("apart", APART), ("default", LEGACY), ("b", B)):
        made.give(name, stream)
    made.late.waited(WAITED_STREAM, B)
    assert made.done == ["a", "default", "b"]


def test_the_default_stream_of_a_thread_is_one_that_the_legacy_one_waits_for(made: Made) -> None:
    made.give("thread's", OF_THREAD)
    made.give("a", A)
    made.late.waited(WAITED_STREAM, OF_THREAD)
    assert made.done == ["thread's"]
    made.give("behind", OF_THREAD)
    made.late.waited(WAITED_STREAM, LEGACY)
    assert sorted(made.done[1:]) == ["a", "behind"]


def test_each_gpu_has_a_default_stream_and_is_waited_for_by_itself(made: Made) -> None:
    made.give("a", A)
    made.give("c", C)
    made.give("default", ELSEWHERE)
    made.late.waited(WAITED_DEVICE, 1)
    assert made.done == ["c", "default"]


@pytest.mark.parametrize(("stream", "done"), [(LEGACY, ["b", "a"]), (A, ["a"]), (APART, ["apart"])])
def test_a_copy_that_is_made_at_once_comes_after_its_stream(made: Made, stream: int, done: list[str]) -> None:
    for name, each in (("a", A), ("apart", APART), ("b", B)):
        made.give(name, each)
    made.late.copied(stream)
    assert made.done == done


def test_what_work_gives_is_a_part_of_it(made: Made) -> None:
    """A graph's kernels, and what it copies: nothing else comes between them."""

    def graph() -> None:
        made.give("node", APART)
        made.late.copied(LEGACY)
        made.done.append("end")

    made.give("before", A)
    made.late.put_off(B, graph)
    made.late.waited(WAITED_STREAM, B)
    assert made.done == ["node", "end"]


def test_the_time_between_events_is_known_when_both_have_happened(made: Made) -> None:
    made.late.record(EVENT, A)
    made.give("a", A)
    made.late.record(LATER, A)
    made.late.waited(WAITED_EVENT, EVENT)
    assert math.isnan(made.late.elapsed_ms(EVENT, LATER))
    made.late.waited(WAITED_EVENT, LATER)
    assert made.late.elapsed_ms(EVENT, LATER) > 0


def test_it_is_not_done_when_one_asks_for_the_first_time_and_asking_again_counts_as_waiting(made: Made) -> None:
    made.give("a", A)
    assert not made.late.is_done(WAITED_STREAM, A)
    assert made.done == []
    made.give("b", A)
    assert not made.late.is_done(WAITED_STREAM, A)  # of b nobody had asked
    assert made.late.is_done(WAITED_STREAM, A)
    assert made.done == ["a", "b"]
    assert made.late.is_done(WAITED_STREAM, A)


def test_what_was_waited_for_is_done_at_the_first_asking(made: Made) -> None:
    made.give("a", A)
    made.late.waited(WAITED_STREAM, A)
    assert made.late.is_done(WAITED_STREAM, A)


def test_whatever_there_is_is_done_where_it_must_be(made: Made) -> None:
    for name, stream in (("apart", APART), ("c", C)):
        made.give(name, stream)
    made.late.all()
    assert made.done == ["c", "apart"]


def test_work_that_fails_is_not_done_again(made: Made) -> None:
    def fails() -> None:
        made.done.append("fails")
        raise ValueError("of work")

    made.late.put_off(A, fails)
    with pytest.raises(ValueError, match="of work"):
        made.late.waited(WAITED_STREAM, A)
    made.late.waited(WAITED_STREAM, A)
    assert made.done == ["fails"]


def test_it_answers_every_call_that_the_timeline_does() -> None:
    assert all(callable(getattr(LateWork(), name)) for name in TIMELINE_CALLBACKS)


def test_memory_goes_when_what_was_given_before_has_been_done(made: Made) -> None:
    made.give("a", A)
    made.give("b", B)
    made.late.give_back(0x100, 0, lambda: made.done.append("gone"))
    made.give("behind", A)
    made.late.waited(WAITED_STREAM, A)
    assert made.done == ["a", "behind"]
    made.late.waited(WAITED_STREAM, B)
    assert made.done == ["a", "behind", "b", "gone"]


def test_memory_that_no_work_uses_goes_at_once(made: Made) -> None:
    made.give("a", A)
    made.late.waited(WAITED_STREAM, A)
    made.late.give_back(0x100, 0, lambda: made.done.append("gone"))
    assert made.done == ["a", "gone"]
    made.late.waited(WAITED_DEVICE, 0)
    assert made.done == ["a", "gone"]


def test_memory_that_is_freed_in_a_stream_goes_in_its_turn(made: Made) -> None:
    made.give("b", B)
    made.give("a", A)
    made.late.give_back(0x100, A, lambda: made.done.append("gone"))
    made.late.waited(WAITED_STREAM, A)
    assert made.done == ["a", "gone"]


@pytest.mark.parametrize("stream", [0, A])
def test_what_is_given_later_finds_the_memory_gone(made: Made, stream: int) -> None:
    gone = []
    made.late.put_off(A, lambda: gone.append(made.late.given_back()))
    made.late.give_back(0x100, stream, lambda: None)
    made.late.put_off(B, lambda: gone.append(made.late.given_back()))
    assert made.late.given_back() == [0x100]
    made.late.waited(WAITED_STREAM, B)
    made.late.waited(WAITED_STREAM, A)
    assert gone == [[0x100], []]
    assert made.late.given_back() == []
