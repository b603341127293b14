"""Functions whose blocks have one instruction, drawn as graphs: what the analyses of control flow are tried on."""

from __future__ import annotations

from hypothesis import strategies as st

from gridstride.virtual.lowering.analysis.control_flow import Code
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
