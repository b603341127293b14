"""Where lanes may wait while a block runs: the fixpoint against its definition."""

from __future__ import annotations

from control_graphs import Graph, code_of, graphs
from hypothesis import given
from hypothesis import strategies as st

from gridstride.virtual.lowering.analysis.control_flow import Code
from gridstride.virtual.lowering.analysis.lane_frontiers import grow_frontiers


def by_definition(code: Code, divergent: list[bool], held: int) -> list[int]:
    """Who runs next takes over everybody who then still waits, until nothing changes."""
    frontier, before = [0] * len(code.blocks), None
    while frontier != before:
        before = list(frontier)
        for b, successors in enumerate(code.successors):
            ways = [successors] if divergent[b] else [(s,) for s in successors]
            spins = any(b == z for z, _ in code.spin_edges)
            for way in ways or [()]:
                waiting = frontier[b] | sum(1 << t for t in way)
                for c in (c for c in range(len(code.blocks)) if waiting >> c & 1):
                    later = -1 if spins else held | -(2 << c)
                    frontier[c] |= waiting & ~(1 << c) & later | held & 1 << c
    return frontier


@given(graphs(), st.data())
def test_frontiers_are_the_least_that_fit_together(successors: Graph, data: st.DataObject) -> None:
    some = st.frozensets(st.integers(0, len(successors) - 1))
    divergent = [len(s) == 2 and data.draw(st.booleans()) for s in successors]
    code = code_of(successors, spins=data.draw(some), bars=data.draw(some))
    frontier, waiters = [0] * len(successors), [0] * len(successors)
    if data.draw(st.booleans()):  # as far as they come while fewer blocks are known to diverge
        grow_frontiers(code, [d and data.draw(st.booleans()) for d in divergent], frontier, waiters)
    grow_frontiers(code, divergent, frontier, waiters)
    splitting = [b for b, block in enumerate(code.blocks) if block[0].opcode == "bar" and frontier[b]]
    held = sum(1 << s for s in {s for b in splitting for s in successors[b]})
    assert frontier == by_definition(code, divergent, held)
