"""Operators nested in operators, and the time that each kept to itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gridstride.profile import intervals
from gridstride.profile.trace import TraceSpan
from gridstride.profile.tree import tree

LANE = ("7", "7")


def nested(pairs: list[tuple[int, int]], start: int = 0, depth: int = 0) -> list[TraceSpan]:
    """Spans one after the other, each with the rest of the list inside its first half."""
    if not pairs:
        return []
    (length, gap), *rest = pairs
    inner = nested(rest, start + gap, depth + 1)
    end = max([start + gap + length, *(span.end for span in inner)])
    return [TraceSpan(f"op{depth}", start, end, LANE, operator=depth), *inner]


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 5)), min_size=1, max_size=6))
def test_own_times_add_up_to_the_time_that_operators_cover(pairs: list[tuple[int, int]]) -> None:
    spans = nested(pairs)
    assert sum(node.own for node in tree(spans).nodes) == intervals.length(intervals.of(spans))


def test_a_caller_is_above_what_it_called_and_threads_do_not_mix() -> None:
    spans = [
        TraceSpan("aten::linear", 0, 100, LANE, operator=1),
        TraceSpan("aten::relu", 5, 50, ("7", "8"), operator=2),
        TraceSpan("aten::addmm", 10, 90, LANE, operator=3),
        TraceSpan("aten::add", 100, 110, LANE, operator=4),
    ]
    found = tree(spans)
    assert [node.span.name for node in found.by_number[3].upwards()] == ["aten::addmm", "aten::linear"]
    assert found.by_number[3].top.span.name == "aten::linear"
    assert [found.by_number[n].own for n in (1, 2, 3, 4)] == [20, 45, 80, 10]
    assert found.by_number[2].parent is found.by_number[4].parent is None
