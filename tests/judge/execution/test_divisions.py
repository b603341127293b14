"""Divisions that machine code takes many instructions for, by line."""

from __future__ import annotations

import gridstride as gs
from gridstride.judge.execution.divisions import divisions

SOURCE = """extern "C" __global__ void k(const float* x, float* y, int w, long long m)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = i / w;
    int seventh = i / 7;
    long long far = m / (i + 1);
    y[row] = x[seventh] / x[i];
    y[far] = __fdividef(x[row], x[i]) + x[i] * 0.5f;
}"""


def test_only_what_is_not_known_when_it_is_compiled_is_dear() -> None:
    with gs.use("virtual"):
        found = divisions(gs.cuda(SOURCE).ptx)
    assert [(each.line, each.kind) for each in found] == [(4, "whole"), (6, "long"), (7, "float")]
    assert [each.takes for each in found] == [20, 80, 8]
    assert all(each.instructions >= 1 for each in found)
