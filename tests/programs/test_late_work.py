"""Work is done when the host waits for it, in its order, and no sooner."""

from __future__ import annotations

import ctypes

import pytest

from gridstride.programs.late_work import LateWork
from gridstride.programs.runtime_records import CALLBACKS, TIMELINE_CALLBACKS
from gridstride.programs.timeline.calls import NON_BLOCKING, WAITED_DEVICE, WAITED_EVENT, WAITED_STREAM
from gridstride.programs.timeline.model import TO_DEVICE, TO_HOST

LEGACY, A, B, APART = 1, 0x10000, 0x20000, 0x30000
EVENT = 7


class Made:
    """Three streams, one of them apart from the default one, and what was done."""

    def __init__(self) -> None:
        self.late, self.done = LateWork(), list[str]()
        for stream, flags in ((A, 0), (B, 0), (APART, NON_BLOCKING)):
            self.late.add_stream(stream, flags, 0, 0)

    def give(self, name: str, stream: int) -> None:
        self.late.put_off(stream, lambda: self.done.append(name))


@pytest.fixture
def made() -> Made:
    return Made()


def test_a_wait_does_all_up_to_the_last_work_that_it_covers(made: Made) -> None:
    for name, stream in (("a1", A), ("b1", B), ("a2", A), ("b2", B)):
        made.give(name, stream)
    assert made.done == []
    made.late.waited(WAITED_STREAM, A)
    assert made.done == ["a1", "b1", "a2"]
    made.late.waited(WAITED_STREAM, A)
    assert made.done == ["a1", "b1", "a2"]
    made.late.waited(WAITED_DEVICE, 0)
    assert made.done[3:] == ["b2"]


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


def test_the_default_stream_comes_after_all_but_those_apart(made: Made) -> None:
    made.give("a", A)
    made.give("apart", APART)
    made.late.waited(WAITED_STREAM, LEGACY)
    assert made.done == ["a"]


def test_a_copy_to_pinned_memory_brings_what_is_there_when_its_turn_comes(made: Made) -> None:
    origin, to = ctypes.create_string_buffer(b"old"), ctypes.create_string_buffer(b"...")
    made.late.put_off(A, lambda: setattr(origin, "value", b"new"))
    made.late.copy(3, TO_HOST, A, 0, 0, ctypes.addressof(to), ctypes.addressof(origin), 0, 0)
    assert to.value == b"..."
    made.late.waited(WAITED_STREAM, A)
    assert to.value == b"new"


@pytest.mark.parametrize(
    ("kind", "pageable", "waits", "done"),
    [(TO_DEVICE, 0, 0, ["a", "apart"]), (TO_HOST, 1, 0, ["a", "apart"]), (TO_HOST, 1, 1, ["a"])],
)
def test_other_copies_come_after_what_they_need(
    made: Made, kind: int, pageable: int, waits: int, done: list[str]
) -> None:
    """One that the host waits for needs no more than its stream; of the rest all may have been done."""
    made.give("a", A)
    made.give("apart", APART)
    made.late.copy(3, kind, LEGACY, pageable, waits, 1, 2, 0, 0)
    assert made.done == done


def test_work_of_a_graph_is_done_at_once(made: Made) -> None:
    made.give("before", A)
    made.late.begin_graph(A, 1)
    made.give("node", A)
    made.late.end_graph()
    made.give("behind", A)
    assert made.done == ["before", "node"]


def test_what_it_is_told_of_are_calls_of_the_board() -> None:
    """They are found by their names: one that is called otherwise would never be told."""
    told = {name for name in vars(LateWork) if not name.startswith("_")} - {"put_off"}
    assert told <= {*CALLBACKS, *TIMELINE_CALLBACKS}
