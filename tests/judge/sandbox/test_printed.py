"""What a worker prints is taken without waiting and kept up to a bound."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from gridstride.judge.sandbox.printed import WorkerOutput


@pytest.fixture
def pipe() -> Iterator[tuple[WorkerOutput, int]]:
    reading, writing = os.pipe()
    yield WorkerOutput(reading, most=10), writing
    for descriptor in (reading, writing):
        os.close(descriptor)


def test_nothing_is_waited_for(pipe: tuple[WorkerOutput, int]) -> None:
    printed, _ = pipe
    printed.take()
    assert printed.taken() == ""
    assert len(printed.descriptors) == 1


def test_what_is_beyond_the_bound_is_counted(pipe: tuple[WorkerOutput, int]) -> None:
    printed, writing = pipe
    os.write(writing, b"one\ntwo\nthree\n")
    printed.take()
    assert (printed.kept(), printed.lost, printed.last_line()) == ("one\ntwo\nth", 4, "th")
    assert printed.taken() == "one\ntwo\nth\n… and 4 bytes more\n"
    assert (printed.kept(), printed.lost) == ("", 0)


def test_bytes_that_are_no_text_are_shown_as_such(pipe: tuple[WorkerOutput, int]) -> None:
    printed, writing = pipe
    os.write(writing, b"a\xff")
    printed.take()
    assert printed.taken() == "a\N{REPLACEMENT CHARACTER}"


def test_behind_the_end_there_is_nothing_to_wait_on() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    printed = WorkerOutput(reading, most=10)
    printed.take()
    assert printed.descriptors == ()
    os.close(reading)
