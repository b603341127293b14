"""Words of a worker: what they are taken for, and that nothing else comes of them."""

from __future__ import annotations

import pytest

from gridstride.judge.sandbox.checked_words import MOST_LINES, MalformedError, integer, named, source_line, strict, text


def test_a_text_is_cut_and_plain() -> None:
    assert text("x" * 30, 3) == "xxx"
    assert "\x1b" not in text("a\x1b[2Jb")
    assert text([[[]]]) == "a list"


@pytest.mark.parametrize("value", [True, 1.0, "1", None, -1, 11])
def test_a_whole_number_is_one_and_within_its_range(value: object) -> None:
    assert integer(10, 0, 10) == 10
    with pytest.raises(MalformedError, match="not within 0 to 10"):
        integer(value, 0, 10)


def test_a_name_is_a_text() -> None:
    assert named("kernel", 20) == "kernel"
    with pytest.raises(MalformedError, match="a int in the place of a text"):
        named(1, 20)


@pytest.mark.parametrize(("value", "line"), [(7, 7), (True, None), (-1, None), (MOST_LINES + 1, None), ("7", None)])
def test_a_line_that_no_source_has_is_none(value: object, line: int | None) -> None:
    assert source_line(value) == line


def test_whatever_goes_wrong_while_they_are_read_the_words_are_at_fault() -> None:
    @strict
    def parse(words: dict[str, int]) -> int:
        return words["x"]

    assert parse({"x": 1}) == 1
    with pytest.raises(MalformedError, match="KeyError: 'x'"):
        parse({})


def test_memory_that_runs_out_is_no_fault_of_theirs() -> None:
    @strict
    def parse() -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        parse()
