"""Loops: their nest, and an order of blocks in which each is in one piece."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gridstride.virtual.ptx.flow.loops import nest

GRAPHS = st.integers(1, 8).flatmap(
    lambda count: st.lists(st.lists(st.integers(0, count - 1), max_size=2), min_size=count, max_size=count)
)


def test_a_loop_within_a_loop() -> None:
    order, (outer, inner) = nest([[1], [2], [2, 3], [1, 4], []])
    assert order == (0, 1, 2, 3, 4)
    assert (outer.header, outer.members, outer.back_edges, outer.depth) == (1, {1, 2, 3}, ((3, 1),), 1)
    assert (inner.header, inner.members, inner.parent, inner.depth) == (2, {2}, 1, 2)


def test_a_loop_that_is_entered_at_two_blocks_is_one_and_says_so() -> None:
    _, loops = nest([[1, 2], [2], [1]])
    assert [(len(loop.members), loop.reducible) for loop in loops] == [(2, False)]


def test_blocks_that_nothing_reaches_are_in_no_order() -> None:
    assert nest([[], [0]]) == ((0,), ())


@given(GRAPHS)
def test_a_loop_is_contiguous_behind_its_header_and_only_back_edges_go_back(edges: list[list[int]]) -> None:
    order, loops = nest(edges)
    rank = {block: position for position, block in enumerate(order)}
    for loop in loops:
        places = sorted(rank[member] for member in loop.members)
        assert places == list(range(rank[loop.header], rank[loop.header] + len(places)))
    back = {edge for loop in loops for edge in loop.back_edges}
    backwards = {(a, b) for a in order for b in edges[a] if rank[b] <= rank[a]}
    assert backwards == back
