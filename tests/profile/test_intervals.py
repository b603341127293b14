"""Sets of time behave as sets of nanoseconds do."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gridstride.profile import intervals
from gridstride.profile.intervals import Times

PAIRS = st.lists(st.tuples(st.integers(-20, 60), st.integers(-20, 60)), max_size=12)


def times(pairs: list[tuple[int, int]]) -> Times:
    return intervals.union(np.array(pairs, np.int64).reshape(-1, 2))


def moments(found: Times) -> set[int]:
    """The nanoseconds themselves, after making sure that the intervals are sorted and disjoint."""
    assert (found[:, 1] > found[:, 0]).all()
    assert (found[1:, 0] >= found[:-1, 1]).all()
    return {at for start, end in found.tolist() for at in range(start, end)}


def plainly(pairs: list[tuple[int, int]]) -> set[int]:
    return {at for start, end in pairs for at in range(start, end)}


@given(PAIRS)
def test_a_union_holds_every_moment_once(pairs: list[tuple[int, int]]) -> None:
    assert moments(times(pairs)) == plainly(pairs)


@given(PAIRS, PAIRS)
def test_common_and_minus_are_those_of_sets(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    a, b = times(one), times(other)
    assert moments(intervals.common(a, b)) == plainly(one) & plainly(other)
    assert moments(intervals.minus(a, b)) == plainly(one) - plainly(other)


@given(PAIRS)
def test_length_counts_the_moments(pairs: list[tuple[int, int]]) -> None:
    assert intervals.length(times(pairs)) == len(plainly(pairs))
