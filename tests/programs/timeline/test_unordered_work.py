"""Which operations of two streams are ordered: by events, waits and pools, and never by time."""

from __future__ import annotations

import pytest

from gridstride.programs.timeline.durations import Work
from gridstride.programs.timeline.model import LEGACY, TO_DEVICE, Timeline
from gridstride.programs.timeline.order import Touch

from .timelines import FULL, HALF, MB, ONE, THREE, TWO, with_streams


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
