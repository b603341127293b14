"""Random kernels full of divergence leave the same bytes as the thread-by-thread reference."""

from __future__ import annotations

import random

import pytest
import random_ptx
from compare import SHAPES, difference

import gridstride as gs

KINDS = {
    "structured": lambda seed: random_ptx.structured(seed),
    "without barriers": lambda seed: random_ptx.structured(seed, barriers=False),
    "tangled": lambda seed: random_ptx.tangled(seed),
}
"""Nested ifs, loops, switches and early returns, with and without barriers; and blocks that jump anywhere."""


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", KINDS)
def test_same_bytes_as_one_thread_at_a_time(gpu: gs.VirtualGPU, kind: str, seed: int) -> None:
    block = random.Random(f"{kind} {seed}").choice(sorted(SHAPES))
    found = difference(gpu, KINDS[kind](seed), block, SHAPES[block], seed=seed)
    assert found is None, f"{kind} seed {seed}, block {block}: {found}"


@pytest.mark.parametrize("block", sorted(SHAPES), ids=lambda b: "x".join(map(str, b)))
def test_every_shape_of_block(gpu: gs.VirtualGPU, block: tuple[int, int, int]) -> None:
    found = difference(gpu, random_ptx.structured(77), block, SHAPES[block])
    assert found is None, f"block {block}: {found}"
