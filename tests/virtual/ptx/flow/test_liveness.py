"""Liveness against a search for the next use along every path."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.flow import cfg, liveness
from gridstride.virtual.ptx.flow.cfg import ControlFlowGraph
from gridstride.virtual.ptx.module import Function
from gridstride.virtual.ptx.operands import reads, writes

Kernel = Callable[..., Function]


@st.composite
def functions(draw: st.DrawFn) -> Function:
    count = draw(st.integers(1, 6))
    register = st.integers(0, 4)
    lines = []
    for index in range(count):
        lines.append(f"L{index}:")
        for _ in range(draw(st.integers(0, 3))):
            guard = draw(st.sampled_from(["", "@%p "]))
            lines.append(f"{guard}add.u32 %r{draw(register)}, %r{draw(register)}, %r{draw(register)};")
        target = draw(st.integers(0, count - 1))
        lines.append(draw(st.sampled_from(["", "ret;", f"bra L{target};", f"@%p bra L{target};"])))
    text = ".version 8.0 .target sm_80 .entry k { .reg .pred %p; .reg .u32 %r<5>;" + "\n".join(lines) + "}"
    return parse(text).functions["k"]


def is_live(graph: ControlFlowGraph, block: int, start: int, name: str) -> bool:
    """True where some path from instruction `start` of a block reads a register before writing it."""
    work, seen = [(block, start)], set()
    while work:
        at, first = work.pop()
        for instruction in graph.blocks[at].instructions[first:]:
            if name in reads(instruction):
                return True
            if name in writes(instruction):
                break
        else:
            fresh = [(target, 0) for target in graph.blocks[at].successors if target not in seen]
            seen.update(target for target, _ in fresh)
            work += fresh
    return False


@given(functions())
def test_live_sets_are_those_of_a_path_search(function: Function) -> None:
    graph = cfg.build(function)
    live = liveness.analyse(graph)
    for block in graph.blocks:
        size = len(block.instructions)
        expected_in = {name for name in live.names if is_live(graph, block.index, 0, name)}
        expected_out = {name for name in live.names if is_live(graph, block.index, size, name)}
        assert set(live.registers(live.live_in[block.index])) == expected_in
        assert set(live.registers(live.live_out[block.index])) == expected_out
        for back, (_, after) in enumerate(live.after(block)):
            assert set(live.registers(after)) == {n for n in live.names if is_live(graph, block.index, size - back, n)}


def test_a_guarded_write_keeps_what_was_live(kernel: Kernel) -> None:
    graph = cfg.build(kernel("@%p1 mov.u32 %r1, 0; st.u32 [%rd1], %r1;"))
    live = liveness.analyse(graph)
    assert set(live.registers(live.live_in[0])) == {"%p1", "%r1", "%rd1"}


def test_a_value_carried_around_a_loop_is_live_through_it(kernel: Kernel) -> None:
    graph = cfg.build(kernel("mov.u32 %r1, 0; LOOP: add.u32 %r1, %r1, %r2; @%p1 bra LOOP; mov.u32 %r3, %r1; ret;"))
    live = liveness.analyse(graph)
    assert set(live.registers(live.live_out[1])) == {"%r1", "%r2", "%p1"}
    assert set(live.registers(live.live_out[0])) == {"%r1", "%r2", "%p1"}
    assert live.live_out[2] == 0


def test_two_thousand_registers_in_five_hundred_blocks_settle(kernel: Kernel) -> None:
    block = "L{0}: add.u32 v{1}, v{2}, v{3}; @%p1 bra L{4};"
    blocks = [block.format(i, 4 * i, 4 * i + 1, (4 * i + 999) % 2000, i // 2) for i in range(500)]
    live = liveness.analyse(cfg.build(kernel(".reg .u32 v<2000>;" + "".join(blocks))))
    assert len(live.live_in) == 500
    assert live.live_in[0].bit_count() > 900
