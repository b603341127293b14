"""Who has gone around a barrier: what the analysis finds against the definition."""

from __future__ import annotations

import time

from control_graphs import Graph, code_of, graphs
from hypothesis import given
from hypothesis import strategies as st

from gridstride.virtual.lowering.observed.barrier_divergence import goes_around


def reached(successors: Graph, start: int, without: int = -1) -> set[int]:
    seen: set[int] = set()
    work = [start]
    while work:
        new = set(successors[work.pop()]) - seen - {without}
        seen |= new
        work += new
    return seen


def certain(successors: Graph, start: int, block: int) -> bool:
    """Every way from `start` to an end leads through `block`."""
    return block != start and all(successors[x] for x in {start, *reached(successors, start, block)})


@given(graphs(), st.data())
def test_lanes_have_gone_around_a_barrier_where_they_may_come_to_what_all_come_to_after_it(
    successors: Graph, data: st.DataObject
) -> None:
    barrier, block = (data.draw(st.integers(0, len(successors) - 1)) for _ in range(2))
    alone = [b for b, s in enumerate(successors) if block in s] == [barrier]
    held = successors[barrier] == (block,) and alone
    later = {block, *reached(successors, block)}
    expected = not held and any(successors[x] and certain(successors, barrier, x) for x in later)
    assert goes_around(code_of(successors), barrier, block) == expected


def test_a_kernel_of_hundreds_of_blocks_and_barriers_is_looked_through_in_a_second() -> None:
    """Each of 400 blocks may wait at each of 40 barriers, as in a decoder in one launch: that took 50 s."""
    count = 400
    successors: Graph = [(b + 1, b - b % 7) for b in range(count - 1)]
    code = code_of([*successors, ()])
    start = time.process_time()
    for barrier in range(0, count, 10):
        for block in range(count):
            goes_around(code, barrier, block)
    assert time.process_time() - start < 3
