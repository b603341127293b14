"""Laws of the race detector between blocks, against an exact model of what orders their accesses.

Each block runs a short random list of operations, one block after the other; the model follows them with vector clocks:
a fence and a later strong write release, a strong read of it and a later fence acquire (PTX ISA, memory consistency).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridstride as gs
from gridstride.virtual.gpu import VirtualGPU

LENGTH, BLOCKS, PLACES = 6, 4, 3
READ, WRITE, FENCE, ADD, LOOK, SET = range(6)

SOURCE = f"""
extern "C" __global__ void run(const int* ops, const int* at, int* data, int* flags) {{
    int seen = 0;
    #pragma unroll
    for (int k = 0; k < {LENGTH}; k++) {{
        const int number = blockIdx.x * {LENGTH} + k, a = at[number];
        switch (ops[number]) {{
            case {READ}: seen += data[a]; break;
            case {WRITE}: data[a] = number + 1; break;
            case {FENCE}: __threadfence(); break;
            case {ADD}: seen += atomicAdd(&flags[a], 1); break;
            case {LOOK}: seen += *(volatile int*)&flags[a]; break;
            case {SET}: *(volatile int*)&flags[a] = number; break;
        }}
    }}
    if (seen == -1) flags[{PLACES}] = seen;
}}
"""


@dataclass
class Model:
    """Who knows what of whom: for each block the number of operations of each block that came before."""

    known: list[np.ndarray] = field(default_factory=lambda: [np.zeros(BLOCKS, int) for _ in range(BLOCKS)])
    published: list[np.ndarray] = field(default_factory=lambda: [np.zeros(BLOCKS, int) for _ in range(BLOCKS)])
    looked: list[np.ndarray] = field(default_factory=lambda: [np.zeros(BLOCKS, int) for _ in range(BLOCKS)])
    flags: list[np.ndarray] = field(default_factory=lambda: [np.zeros(BLOCKS, int) for _ in range(PLACES)])
    accesses: list[tuple[int, int, bool, int]] = field(default_factory=list)
    racing: set[int] = field(default_factory=set)

    def step(self, block: int, op: int, place: int) -> None:
        self.known[block][block] += 1
        if op in (READ, WRITE):
            for other, when, wrote, where in self.accesses:
                unordered = other != block and self.known[block][other] < when
                if unordered and where == place and (wrote or op == WRITE):
                    self.racing.add(place)
            self.accesses.append((block, self.known[block][block], op == WRITE, place))
        if op == FENCE:
            self.known[block] = np.maximum(self.known[block], self.looked[block])
            self.published[block] = self.known[block].copy()
        if op in (ADD, LOOK):
            self.looked[block] = np.maximum(self.looked[block], self.flags[place])
        if op == ADD:
            self.flags[place] = np.maximum(self.flags[place], self.published[block])
        if op == SET:
            self.flags[place] = self.published[block].copy()


def racing(program: list[list[tuple[int, int]]]) -> set[int]:
    """The places that two blocks of a program touch in no order, at least one of them writing."""
    model = Model()
    for block, operations in enumerate(program):
        for op, place in operations:
            model.step(block, op, place)
    return model.racing


@pytest.fixture(scope="module")
def kernel() -> gs.Kernel:
    return gs.cuda(SOURCE)["run"]


DEVICE = VirtualGPU(workers=1, memory=1 << 24)


def found(kernel: gs.Kernel, program: list[list[tuple[int, int]]]) -> set[int]:
    """The places that the detector names."""
    ops, at = np.ascontiguousarray(np.array(program, np.int32).reshape(-1, 2).T)
    with gs.use(DEVICE):
        data, flags = (gs.to_device(np.zeros(PLACES + 1, np.int32)) for _ in range(2))
        findings = kernel.observe(BLOCKS, 1)(ops, at, data, flags).findings
        return {(f.address - data.address) // 4 for f in findings}


def programs(*operations: int) -> st.SearchStrategy[list[list[tuple[int, int]]]]:
    """LENGTH operations, each at a place, for each of the blocks."""
    one = st.sampled_from(list(product(operations, range(PLACES))))
    whole = st.lists(one, min_size=BLOCKS * LENGTH, max_size=BLOCKS * LENGTH)
    return whole.map(lambda steps: [steps[i : i + LENGTH] for i in range(0, len(steps), LENGTH)])


@settings(max_examples=60, deadline=None)
@given(program=programs(READ, WRITE, FENCE, FENCE, ADD, ADD, LOOK, SET))
def test_what_is_named_is_in_no_order(kernel: gs.Kernel, program: list[list[tuple[int, int]]]) -> None:
    assert found(kernel, program) <= racing(program)


@settings(max_examples=30, deadline=None)
@given(program=programs(READ, WRITE))
def test_where_nothing_orders_every_race_is_noticed(kernel: gs.Kernel, program: list[list[tuple[int, int]]]) -> None:
    assert bool(found(kernel, program)) == bool(racing(program))


@settings(max_examples=30, deadline=None)
@given(program=programs(READ, WRITE, ADD, LOOK, SET))
def test_flags_without_fences_publish_nothing(kernel: gs.Kernel, program: list[list[tuple[int, int]]]) -> None:
    assert bool(found(kernel, program)) == bool(racing(program))


@pytest.mark.parametrize(("fenced", "told"), list(product([False, True], repeat=2)))
def test_the_model_and_the_detector_know_a_message_from_a_race(kernel: gs.Kernel, fenced: bool, told: bool) -> None:
    nothing = (READ, 2)
    sender = [(WRITE, 0), (FENCE, 0) if fenced else nothing, (ADD, 0) if told else nothing]
    receiver = [(ADD, 0), (FENCE, 0), (READ, 0)]
    program = [sender + [nothing] * 3, receiver + [nothing] * 3, [nothing] * 6, [nothing] * 6]
    ordered = fenced and told
    assert racing(program) == (set() if ordered else {0})
    assert found(kernel, program) == racing(program)
