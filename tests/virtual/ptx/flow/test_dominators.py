"""Dominators against their definition: every path from the entry goes through them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gridstride.virtual.ptx.flow.dominators import dominators, post_dominators

GRAPHS = st.integers(2, 7).flatmap(
    lambda count: st.lists(st.lists(st.integers(1, count - 1), max_size=2), min_size=count, max_size=count)
)


def reverse_postorder(edges: list[list[int]]) -> list[int]:
    seen: set[int] = set()
    order: list[int] = []

    def visit(node: int) -> None:
        seen.add(node)
        for target in edges[node]:
            if target not in seen:
                visit(target)
        order.append(node)

    visit(0)
    return order[::-1]


def reached(edges: list[list[int]], start: int, without: int | None) -> set[int]:
    seen, work = set(), [start]
    while work:
        node = work.pop()
        if node not in seen and node != without:
            seen.add(node)
            work += edges[node]
    return seen


def test_a_diamond_is_dominated_by_its_head_and_post_dominated_by_its_foot() -> None:
    diamond = [[1, 2], [3], [3], []]
    assert dominators(diamond, [0, 1, 2, 3]) == (None, 0, 0, 0)
    assert post_dominators(diamond, [0, 1, 2, 3]) == (3, 3, 3, None)


def test_two_ends_have_no_post_dominator_in_common() -> None:
    assert post_dominators([[1, 2], [], []], [0, 1, 2]) == (None, None, None)


def test_an_endless_loop_ends_at_its_last_block() -> None:
    assert post_dominators([[1], [2], [1]], [0, 1, 2]) == (1, 2, None)


@given(GRAPHS)
def test_an_immediate_dominator_is_the_nearest_block_on_every_path(edges: list[list[int]]) -> None:
    order = reverse_postorder(edges)
    immediate = dominators(edges, order)
    strict = {
        node: {other for other in order if other != node and node not in reached(edges, 0, other)} for node in order
    }
    for node in range(len(edges)):
        above = immediate[node]
        if node not in strict or node == 0:
            assert above is None
        else:
            assert above is not None
            assert strict[node] == strict[above] | {above}
