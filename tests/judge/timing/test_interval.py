"""The interval of a median: it holds the median as often as it says, and shrinks with more values."""

from __future__ import annotations

from random import Random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.judge.timing.interval import interval, narrow

TIMES = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=60)


@given(TIMES)
def test_it_holds_the_median_and_lies_among_the_values(values: list[float]) -> None:
    low, high = interval(values)
    assert min(values) <= low <= median(values) <= high <= max(values)


@pytest.mark.parametrize("count", [8, 20, 50])
def test_it_holds_the_true_median_in_at_least_nine_of_ten_draws(count: int) -> None:
    draw = Random(count)
    draws = [interval([draw.lognormvariate(0, 1) for _ in range(count)]) for _ in range(2000)]
    assert sum(low <= 1.0 <= high for low, high in draws) > 0.9 * len(draws)


def test_equal_values_are_narrow_and_scattered_ones_are_not() -> None:
    assert narrow([2.0] * 8)
    assert narrow([2.0, 2.0, 2.0, 2.01, 2.0, 1.99, 2.0, 2.0])
    assert not narrow([2.0, 2.0, 2.0, 2.5, 1.5, 2.2, 1.9, 2.0])


def test_one_stray_value_among_many_does_not_widen_it() -> None:
    assert narrow([2.0] * 20 + [50.0])
