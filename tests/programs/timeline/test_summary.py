"""Figures of spans of time, against counting them out moment by moment."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gridstride.programs.timeline.summary import between, length, overlap, union

SPANS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6)).map(lambda span: (span[0], span[0] + span[1])))


def moments(spans: list[tuple[float, float]]) -> set[int]:
    return {moment for moment in range(30) if any(start <= moment < end for start, end in spans)}


@given(SPANS)
def test_a_union_is_apart_in_order_and_covers_the_same(spans: list[tuple[float, float]]) -> None:
    merged = union(spans)
    assert moments(merged) == moments(spans)
    assert all(first[1] < second[0] for first, second in pairwise(merged))
    assert length(merged) == len(moments(spans))


@given(SPANS, st.integers(0, 20), st.integers(0, 10))
def test_what_lies_between_two_times(spans: list[tuple[float, float]], first: int, more: int) -> None:
    cut = between(union(spans), first, first + more)
    assert moments(cut) == moments(spans) & set(range(first, first + more))


@given(st.lists(SPANS, max_size=4))
def test_an_overlap_is_the_time_in_which_two_engines_are_busy(engines: list[list[tuple[float, float]]]) -> None:
    merged = [union(spans) for spans in engines]
    several = [moment for moment in range(30) if sum(moment in moments(spans) for spans in merged) > 1]
    assert overlap(merged) == len(several)
