"""Who has gone around a barrier, and who may wait where: what the analysis finds against the definitions."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from gridstride.virtual.lowering.analysis.control_flow import Code
from gridstride.virtual.lowering.analysis.lane_frontiers import grow_frontiers
from gridstride.virtual.lowering.observed.barrier_divergence import goes_around
from gridstride.virtual.ptx.module import Instruction

Graph = list[tuple[int, ...]]


def instruction(opcode: str) -> Instruction:
    return Instruction(opcode, (), (), None, 1, None)


def code_of(successors: Graph, *, spins: frozenset[int] = frozenset(), bars: frozenset[int] = frozenset()) -> Code:
    """Blocks of one instruction: `bars` end with a barrier, those without successors return."""
    last = ["bar" if b in bars and s else "add" if s else "ret" for b, s in enumerate(successors)]
    return Code(
        blocks=[[instruction(opcode)] for opcode in last], successors=successors, live_in=[set() for _ in successors],
        registers={}, spin_edges={(b, s) for b in spins for s in successors[b]}, reads=lambda ins: (),
        writes=lambda ins: (), uniform_params=frozenset(), entry=True, register_params=frozenset(), branch_targets={},
    )  # fmt: skip


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(2, 9))
    block = st.integers(0, count - 1)
    return [tuple(draw(st.lists(block, max_size=2, unique=True))) for _ in range(count)]


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
    found, waiters = [0] * len(successors), [0] * len(successors)
    if data.draw(st.booleans()):  # as far as they come while fewer blocks are known to diverge
        grow_frontiers(code, [d and data.draw(st.booleans()) for d in divergent], found, waiters)
    grow_frontiers(code, divergent, found, waiters)
    parted = [b for b, block in enumerate(code.blocks) if block[0].opcode == "bar" and found[b]]
    held = sum(1 << s for s in {s for b in parted for s in successors[b]})
    assert found == by_definition(code, divergent, held)


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
