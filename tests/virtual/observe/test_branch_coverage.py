"""Which ways of a kernel a run took: basic blocks, branches, and lines that no lane came to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.gpu import VirtualGPU

SOURCE = """
extern "C" __global__ void ways(int n, int* out) {
    const int i = threadIdx.x;
    if (i < n) {
        out[i] = n * i;
    } else if (n > 100) {
        atomicAdd(out, 7);
    }
}
"""
ATOMIC = 1 + next(number for number, line in enumerate(SOURCE.splitlines()) if "atomicAdd" in line)


@pytest.fixture(scope="module")
def kernel() -> Any:
    with gs.use(VirtualGPU(workers=1)):
        yield gs.cuda(SOURCE, filename="ways.cu")["ways"]


def model_of(kernel: Any, n: int) -> Any:
    return kernel.observe(1, 64)(n, gs.to_device(np.zeros(64, np.int32))).model


def test_the_same_way_leaves_the_same_outcomes(kernel: Any) -> None:
    assert model_of(kernel, 10).outcomes == model_of(kernel, 20).outcomes


def test_a_branch_that_all_lanes_take_differs_from_one_that_some_go_past(kernel: Any) -> None:
    every, some, none = (model_of(kernel, n).outcomes for n in (64, 40, 0))
    assert len({every, some, none}) == 3


def test_a_line_that_no_lane_came_to_is_named(kernel: Any) -> None:
    assert ATOMIC in model_of(kernel, 64).unreached


def test_nothing_is_named_where_lanes_came_to_every_line() -> None:
    with gs.use(VirtualGPU(workers=1)):
        kernel = gs.cuda(SOURCE.replace("n > 100", "n < 100"), filename="ways.cu")["ways"]
        assert model_of(kernel, 10).unreached == frozenset()
