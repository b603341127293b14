"""Whether lanes that wait elsewhere have gone around a barrier, or are at it already, or are about to return."""

from __future__ import annotations

from gridstride.virtual.lowering.analysis.control_flow import Code, ends_lanes


def goes_around(code: Code, barrier: int, block: int) -> bool:
    """False for lanes that wait at `block` only because the barrier holds them, or on their way out of the kernel.

    Those on their way out never come to a place that the others reach once they are past the barrier.
    """
    if code.successors[barrier] == (block,) and _predecessors(code, block) == [barrier]:
        return False
    if barrier not in code.bypassing:
        met = {x for x in _certain(code, barrier) if not _only_leaves(code, x)}
        code.bypassing[barrier] = frozenset(_leading(code, met))
    return block in code.bypassing[barrier]


def comes_back(code: Code, barrier: int, block: int) -> bool:
    """True for lanes that may wait at `block` only because a loop after the barrier gave way to others of their warp.

    A loop that waits for other threads does so after some rounds; the others then begin the next round of the loop
    around it, at whose barrier these lanes will arrive too.
    """
    later = {z for _, z in code.spin_edges if barrier < z <= block}
    if not later:
        return False
    back = _leading(code, {barrier})
    return block in back and not later.isdisjoint(back)


def follows(code: Code, block: int, first: int) -> bool:
    """True where every way from the function's beginning to `block` leads through `first`."""
    if first not in code.reachable_without:
        code.reachable_without[first] = frozenset(_reached(code, first))
    return block not in code.reachable_without[first]


def _reached(code: Code, closed: int) -> set[int]:
    """The blocks that control can come to from the function's beginning where one block lets nothing through."""
    work = [0] if closed else []
    reached = set(work)
    for block in work:
        new = set(code.successors[block]) - reached - {closed}
        reached |= new
        work += new
    return reached


def _predecessors(code: Code, block: int) -> list[int]:
    return [b for b, successors in enumerate(code.successors) if block in successors]


def _leading(code: Code, targets: set[int]) -> set[int]:
    """The targets, and the blocks that control can come to one of them from."""
    predecessors: dict[int, list[int]] = {}
    for b, successors in enumerate(code.successors):
        for s in successors:
            predecessors.setdefault(s, []).append(b)
    leading, work = set(targets), list(targets)
    while work:
        new = [b for b in predecessors.get(work.pop(), ()) if b not in leading]
        leading.update(new)
        work += new
    return leading


def _certain(code: Code, start: int) -> set[int]:
    """The blocks that every way from `start` to an end of the function leads through: they lie on any one such way, at
    the places that nothing before them leads past.
    """
    way = _way_out(code, start)
    if not way:
        return set(range(len(code.blocks))) - {start}
    position = {b: at for at, b in enumerate(way)}
    certain, visited, furthest = set(), set(way), 0
    for at, b in enumerate(way):
        if at and furthest == at:
            certain.add(b)
        work = [b]
        while work:
            successors = code.successors[work.pop()]
            furthest = max(
                [furthest, *(position[s] for s in successors if s in position)] if successors else [len(way)]
            )
            new = set(successors) - visited
            visited |= new
            work += new
    return certain


def _way_out(code: Code, start: int) -> list[int]:
    """Blocks from `start` to an end of the function; none where control never ends."""
    came: dict[int, int] = {start: start}
    work = [start]
    for b in work:
        if not code.successors[b]:
            way = [b]
            while way[-1] != start:
                way.append(came[way[-1]])
            return way[::-1]
        for s in code.successors[b]:
            if s not in came:
                came[s] = b
                work.append(s)
    return []


def _only_leaves(code: Code, block: int) -> bool:
    only = code.blocks[block]
    return len(only) == 1 and ends_lanes(only[0])
