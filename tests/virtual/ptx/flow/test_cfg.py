"""The control-flow graph: small shapes by hand, then laws over random graphs against plain path searches."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.flow import cfg
from gridstride.virtual.ptx.flow.cfg import ControlFlowGraph
from gridstride.virtual.ptx.module import Function

Kernel = Callable[..., Function]


def labels(graph: ControlFlowGraph, indices: tuple[int, ...]) -> str:
    return " ".join(graph.blocks[index].label or "entry" for index in indices)


def test_blocks_start_at_labels_and_end_at_branches(kernel: Kernel) -> None:
    graph = cfg.build(
        kernel(
            "mov.u32 %r1, 0; A: B: mov.u32 %r2, 0; @%p1 bra D; mov.u32 %r3, 0; C: @%p2 ret; @%p2 bra.uni A; D: trap;"
            "mov.u32 %r4, 1; bra A;"
        )
    )
    shape = [(block.labels, len(block.instructions), block.successors) for block in graph.blocks]
    assert shape == [
        ((), 1, (1,)),
        (("A", "B"), 2, (5, 2)),
        ((), 1, (3,)),
        (("C",), 1, (4,)),
        ((), 1, (1, 5)),
        (("D",), 1, ()),
        ((), 2, (1,)),
    ]
    assert graph.blocks[1].predecessors == (0, 4, 6)
    assert graph.blocks[1].label == "A"
    assert graph.order == (0, 1, 2, 3, 4, 5)
    assert graph.position[6] == -1
    assert [block.terminator is None for block in graph.blocks] == [True, False, True, False, False, False, False]


def test_an_empty_body_is_one_block_and_its_end_leaves(kernel: Kernel) -> None:
    graph = cfg.build(kernel(""))
    assert [(block.instructions, block.successors) for block in graph.blocks] == [((), ())]
    assert graph.order == (0,)


def test_indexed_branch_goes_to_each_target_once(kernel: Kernel) -> None:
    graph = cfg.build(kernel("ts: .branchtargets A, B, A; brx.idx %r1, ts; A: ret; B: ret;"))
    assert graph.blocks[0].successors == (1, 2)
    graph = cfg.build(kernel("ts: .branchtargets B; @%p1 brx.idx %r1, ts; A: ret; B: ret;"))
    assert graph.blocks[0].successors == (2, 1)


def test_loop_stands_before_its_exit_wherever_the_text_has_it(kernel: Kernel) -> None:
    graph = cfg.build(kernel("HEAD: @%p1 bra BODY; EXIT: ret; BODY: @%p2 bra EXIT; bra HEAD;"))
    assert labels(graph, graph.order) == "HEAD BODY entry EXIT"
    (loop,) = graph.loops
    assert (loop.header, loop.depth, loop.parent, loop.reducible) == (0, 1, None, True)
    assert loop.members == {0, 2, 3}
    assert loop.back_edges == ((3, 0),)


def test_nested_loops(kernel: Kernel) -> None:
    graph = cfg.build(
        kernel("START: mov.u32 %r1, 0; OUTER: mov.u32 %r1, 0; INNER: @%p1 bra INNER; TAIL: @%p2 bra OUTER; DONE: ret;")
    )
    outer, inner = graph.loops
    assert (outer.header, outer.members, outer.depth, outer.parent) == (1, {1, 2, 3}, 1, None)
    assert (inner.header, inner.members, inner.depth, inner.parent) == (2, {2}, 2, 1)
    assert graph.loop_of(2) == inner
    assert graph.loop_of(3) == outer
    assert graph.loop_of(4) is None


def test_a_loop_entered_twice_is_marked(kernel: Kernel) -> None:
    graph = cfg.build(kernel("@%p1 bra B; A: mov.u32 %r1, 0; B: @%p2 bra A; ret;"))
    (loop,) = graph.loops
    assert loop.members == {1, 2}
    assert not loop.reducible


# Random graphs: each block is (end, targets), with the kind of end and the blocks its branch may go to.
ENDS = ["fall", "bra", "if", "ret", "ret_if", "brx"]


@st.composite
def functions(draw: st.DrawFn, most: int = 9) -> Function:
    count = draw(st.integers(1, most))
    target = st.integers(0, count - 1)
    lines = []
    for index in range(count):
        end = draw(st.sampled_from(ENDS))
        to = [draw(target) for _ in range(3 if end == "brx" else 1)]
        targets = ", ".join(f"L{t}" for t in to)
        code = {
            "fall": "",
            "bra": f"bra L{to[0]};",
            "if": f"@%p bra L{to[0]};",
            "ret": "ret;",
            "ret_if": "@%p ret;",
            "brx": f"T{index}: .branchtargets {targets}; brx.idx %r0, T{index};",
        }[end]
        lines.append(f"L{index}: add.u32 %r{draw(st.integers(0, 3))}, %r{draw(st.integers(0, 3))}, 1; {code}")
    text = ".version 8.0 .target sm_80 .entry k { .reg .pred %p; .reg .u32 %r<4>; " + "\n".join(lines) + "}"
    return parse(text).functions["k"]


def reached(graph: ControlFlowGraph, start: int, *, without: int | None = None) -> set[int]:
    found: set[int] = set()
    work = [start] if start != without else []
    while work:
        at = work.pop()
        if at not in found:
            found.add(at)
            work += [target for target in graph.blocks[at].successors if target != without]
    return found


@given(functions())
def test_order_holds_the_reachable_blocks_and_only_returns_to_headers(function: Function) -> None:
    graph = cfg.build(function)
    assert set(graph.order) == reached(graph, 0)
    assert len(set(graph.order)) == len(graph.order)
    assert graph.order[0] == 0
    around = {(member, loop.header) for loop in graph.loops for member in loop.members}
    for source in graph.order:
        for target in graph.blocks[source].successors:
            assert graph.position[source] < graph.position[target] or (source, target) in around


@given(functions())
def test_loops_are_contiguous_and_start_at_their_headers(function: Function) -> None:
    graph = cfg.build(function)
    for loop in graph.loops:
        places = sorted(graph.position[member] for member in loop.members)
        assert all(b == a + 1 for a, b in pairwise(places))
        assert graph.order[places[0]] == loop.header
        assert loop.back_edges
        parent = [other for other in graph.loops if other.header == loop.parent]
        assert all(loop.members < other.members for other in parent)
        assert loop.depth == (parent[0].depth + 1 if parent else 1)


@given(functions())
def test_loops_of_a_reducible_graph_are_the_natural_loops(function: Function) -> None:
    graph = cfg.build(function)
    natural: dict[int, set[int]] = {}
    for source in graph.order:
        for header in graph.blocks[source].successors:
            if source not in reached(graph, 0, without=header):  # the header dominates the source
                into = {b for b in graph.order if source in reached(graph, b, without=header)}
                natural.setdefault(header, {header}).update(into - {header} | {source})
    found = {loop.header: set(loop.members) for loop in graph.loops}
    if all(loop.reducible for loop in graph.loops):
        assert found == natural
    else:
        assert set(natural) <= set(found) or any(not loop.reducible for loop in graph.loops)


def test_deep_nests_and_long_chains_need_no_recursion() -> None:
    count = 1200  # deeper than Python's own stack
    chain = "".join(f"L{i}: @%p bra L{max(0, i - 1)};" for i in range(count))
    function = parse(f".version 8.0 .target sm_80 .entry k {{ .reg .pred %p; {chain} }}").functions["k"]
    graph = cfg.build(function)
    assert len(graph.order) == count


@pytest.mark.parametrize("end", ["ret;", "exit;", "trap;", "bra A;"])
def test_what_follows_an_end_without_a_label_is_unreachable(kernel: Kernel, end: str) -> None:
    graph = cfg.build(kernel(f"A: {end} mov.u32 %r1, 0; ret;"))
    assert graph.order == (0,)
