"""Immediate dominators and post-dominators (Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", 2001)."""

from __future__ import annotations

from collections.abc import Sequence

Edges = Sequence[Sequence[int]]


def dominators(successors: Edges, order: Sequence[int]) -> tuple[int | None, ...]:
    """The immediate dominator of each block; None for the entry and for blocks not in `order`."""
    return tuple(_immediate(successors, order))


def post_dominators(successors: Edges, order: Sequence[int]) -> tuple[int | None, ...]:
    """The immediate post-dominator of each block; None where only the end of the function follows on every path.

    A loop without an exit is taken to end at its last block in `order`, so that the blocks within it have one.
    """
    end = len(successors)
    backwards: list[list[int]] = [[] for _ in range(end + 1)]
    for source in order:
        for target in successors[source]:
            backwards[target].append(source)
    backwards[end] = [source for source in order if not successors[source]]
    _end_endless(backwards, order, end)
    immediate = _immediate(backwards, _reverse_postorder(backwards, end))
    return tuple(None if above == end else above for above in immediate[:end])


def _end_endless(backwards: list[list[int]], order: Sequence[int], end: int) -> None:
    """Give every block a way to the end, from the last block in order of those that have none."""
    reached = {end}
    _spread(backwards, [end], reached)
    for block in reversed(order):
        if block not in reached:
            backwards[end].append(block)
            reached.add(block)
            _spread(backwards, [block], reached)


def _spread(edges: Edges, work: list[int], reached: set[int]) -> None:
    while work:
        for target in edges[work.pop()]:
            if target not in reached:
                reached.add(target)
                work.append(target)


def _reverse_postorder(edges: Edges, start: int) -> list[int]:
    postorder: list[int] = []
    seen = {start}
    path = [(start, iter(edges[start]))]
    while path:
        node, targets = path[-1]
        target = next((t for t in targets if t not in seen), None)
        if target is None:
            postorder.append(node)
            path.pop()
        else:
            seen.add(target)
            path.append((target, iter(edges[target])))
    return postorder[::-1]


def _immediate(successors: Edges, order: Sequence[int]) -> list[int | None]:
    """Immediate dominators. `order` starts at the root; every other node comes after one of its predecessors."""
    rank = {node: position for position, node in enumerate(order)}
    sources: dict[int, list[int]] = {node: [] for node in order}
    for node in order:
        for target in successors[node]:
            if target in sources:
                sources[target].append(node)
    above: dict[int, int] = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            known = [source for source in sources[node] if source in above]
            nearest = known[0]
            for source in known[1:]:
                nearest = _meet(above, rank, nearest, source)
            if above.get(node) != nearest:
                above[node] = nearest
                changed = True
    return [above.get(node) if node in above and node != order[0] else None for node in range(len(successors))]


def _meet(above: dict[int, int], rank: dict[int, int], a: int, b: int) -> int:
    while a != b:
        if rank[a] > rank[b]:
            a = above[a]
        else:
            b = above[b]
    return a
