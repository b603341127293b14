"""Whether lanes that wait elsewhere have gone around a barrier, or are at it already, or are about to return."""

from __future__ import annotations

from collections.abc import Iterator

from gridstride.virtual.lowering.analysis import Code, leaves


def goes_around(code: Code, barrier: int, block: int) -> bool:
    """False for lanes that wait at `block` only because the barrier holds them, or on their way out of the kernel.

    Those on their way out never come to a place that the others reach once they are past the barrier.
    """
    if code.successors[barrier] == (block,) and _predecessors(code, block) == [barrier]:
        return False
    return any(not _only_leaves(code, x) and _certain(code, barrier, x) for x in {block, *_reached(code, block)})


def _predecessors(code: Code, block: int) -> list[int]:
    return [b for b, successors in enumerate(code.successors) if block in successors]


def _reached(code: Code, start: int, without: int = -1) -> Iterator[int]:
    """Blocks that control can come to from a block, not through `without`."""
    seen: set[int] = set()
    work = [start]
    while work:
        for s in code.successors[work.pop()]:
            if s not in seen and s != without:
                seen.add(s)
                work.append(s)
                yield s


def _certain(code: Code, start: int, block: int) -> bool:
    """Every way from `start` to an end of the function leads through `block`."""
    return block != start and all(code.successors[x] for x in (start, *_reached(code, start, block)))


def _only_leaves(code: Code, block: int) -> bool:
    only = code.blocks[block]
    return len(only) == 1 and leaves(only[0])
