"""How times and places of a recording are written."""

from __future__ import annotations

import pytest

from gridstride.profile.view import milliseconds, short_path


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(12_345_678, "12.3 ms"), (4.1e9, "4.10 s"), (6_200, "6.20 µs"), (999_600, "1.00 ms"), (123e6, "123 ms"),
     (17, "17 ns"), (0, "0 ns"), (-2e6, "-2.00 ms")],
)  # fmt: skip
def test_a_time_has_three_digits_and_its_unit(nanoseconds: float, text: str) -> None:
    assert milliseconds(nanoseconds) == text


@pytest.mark.parametrize(
    ("where", "text"),
    [("/home/me/project/src/train.py:31 in train", "src/train.py:31 in train"), ("train.py:3 in f", "train.py:3 in f"),
     ("built-in", "built-in")],
)  # fmt: skip
def test_of_a_path_the_last_two_parts_are_shown(where: str, text: str) -> None:
    assert short_path(where) == text
