"""What comes before what: by streams, by what operations wait for, and by the host's waiting."""

from __future__ import annotations

from gridstride.programs.timeline.order import Order, Touch
from gridstride.programs.timeline.schedule import Engine, Operation

BYTES = Touch(100, 200, writes=True)


def operation(number: int, stream: int, *touches: Touch) -> Operation:
    return Operation(number, "kernel", "k", stream, Engine.COMPUTE, 0.0, touches=list(touches))


def given(order: Order, stream: int, *touches: Touch, before: tuple[Operation, ...] = ()) -> Operation:
    made = operation(1, stream, *touches)
    order.add(made, before)
    return made


def test_two_streams_that_write_the_same_bytes_are_a_pair_with_the_bytes_that_both_touch() -> None:
    order = Order()
    one, other = given(order, 1, BYTES), given(order, 2, Touch(150, 300, writes=False))
    assert order.count == 1
    assert order.pairs == [(one, other, 50)]


def test_readers_and_neighbours_are_none() -> None:
    order = Order()
    for stream in (1, 2):
        given(order, stream, Touch(0, 100, writes=False))
    given(order, 3, BYTES)
    assert order.count == 0


def test_what_waits_for_an_operation_comes_after_all_that_came_before_it() -> None:
    order = Order()
    first = given(order, 1, BYTES)
    event = given(order, 1, before=(first,))
    given(order, 2, BYTES, before=(event,))
    assert order.count == 0


def test_what_comes_later_in_a_stream_is_not_waited_for_with_it() -> None:
    order = Order()
    event = given(order, 1)
    given(order, 1, BYTES, before=(event,))
    given(order, 2, BYTES, before=(event,))
    assert order.count == 1


def test_the_host_s_wait_orders_all_that_is_given_from_then_on() -> None:
    order = Order()
    order.host_waited([given(order, 1, BYTES)])
    given(order, 2, BYTES)
    assert order.count == 0


def test_memory_that_is_given_to_somebody_else_is_no_longer_what_was_touched() -> None:
    order = Order()
    given(order, 1, BYTES)
    order.given_anew(0, 4096)
    given(order, 2, BYTES)
    assert order.count == 0


def test_of_many_pairs_the_first_are_kept_and_the_others_counted() -> None:
    order = Order()
    for stream in range(8):
        given(order, stream, BYTES)
    assert order.count == 28
    assert len(order.pairs) == 5
