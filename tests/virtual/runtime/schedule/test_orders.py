"""Kernels under the orders that CUDA allows: those that rely on one of them show it, those that rely on none do not."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.machine.schedule import IN_TURN, REVERSED, Schedule, seeded

GRID, BLOCK, APART = 5, 64, 70
N = GRID * BLOCK
ONE_AT_A_TIME = Schedule(resident=1)
ORDERS = (IN_TURN, REVERSED, seeded(1), ONE_AT_A_TIME, Schedule("reversed", "reversed", resident=1))
HEAD = """extern "C" __global__ void k(int *x, int *y, int n, int d) {
    volatile int *vy = y, *vx = x;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x, b = blockIdx.x;
"""
"""`x` holds 1, 2, …; `y` zeros, four times as many as threads."""

WRONG = {
    "block 0 resets what all add to": "if (i == 0) *y = 0; __syncthreads(); atomicAdd(y, x[i]);",
    "the same with a fence": "if (i == 0) { *y = 0; __threadfence(); } __syncthreads(); atomicAdd(y, x[i]);",
    "the same with a volatile store": "if (i == 0) { *vy = 0; __threadfence(); } __syncthreads(); atomicAdd(y, x[i]);",
    "the same with an atomic": "if (i == 0) atomicExch(y, 0); __syncthreads(); atomicAdd(y, x[i]);",
    "all use what block 0 computes": "if (i == 0) y[n] = x[0] + 5; __syncthreads(); y[i] = y[n] + x[i];",
    "the same, volatile": "if (i == 0) { vy[n] = x[0] + 5; __threadfence(); } __syncthreads(); y[i] = vy[n] + x[i];",
    "the same by atomics": "if (i == 0) atomicExch(y + n, x[0] + 5); __syncthreads(); y[i] = atomicAdd(y + n, 0);",
    "each block goes on from the last": "int s = b ? y[n + b - 1] : 0; y[i] = s; if (t == 0) y[n + b] = s + 1;",
    "the same by atomics, from the last": "int s = b ? atomicAdd(y + n + b - 1, 0) : 0; y[i] = s; __syncthreads();"
    "if (t == 0) atomicExch(y + n + b, s + 1);",
    "a neighbour block's elements in place": "int v = i + d < n ? x[i + d] : 0; __syncthreads(); x[i] = v;",
    "the same to the left": "int v = i >= d ? x[i - d] : 0; __syncthreads(); x[i] = v;",
    "the same with a fence, in place": "int v = i + d < n ? x[i + d] : 0; __threadfence(); __syncthreads(); x[i] = v;",
    "the same, volatile, in place": "int v = i + d < n ? vx[i + d] : 0; __syncthreads(); vx[i] = v;",
    "the same with an atomic, in place": "int v = i + d < n ? x[i + d] : 0; __syncthreads(); atomicExch(x + i, v);",
    "a mirror in place": "int v = x[n - 1 - i]; __syncthreads(); x[i] = v;",
    "results appended as they come": "y[atomicAdd(y + n, 1)] = x[i];",
    "a total by the last block with no fence": "__shared__ bool last; if (t == 0) { y[b] = x[i];"
    "last = atomicAdd(y + n, 1) == gridDim.x - 1; } __syncthreads();"
    "if (last && t == 0) for (int j = 0; j < gridDim.x; ++j) y[n + 1] += y[j];",
    "a message with no fence": "if (b == 0) { y[t] = x[t]; __syncthreads(); if (t == 0) vy[n] = 1; }"
    "else { if (t == 0) while (vy[n] == 0); __syncthreads(); y[i] = y[t]; }",
    "a barrier of all blocks": "if (t == 0) { atomicAdd(y + n, 1); while (vy[n] < gridDim.x); } __syncthreads();"
    "y[i] = x[(i + 1) % n];",
}  # fmt: skip
RIGHT = {
    "each thread its own": "y[i] = x[i] * 2;",
    "integers added up": "atomicAdd(y, x[i]);",
    "a total by the last block": "__shared__ bool last; if (t == 0) { y[b] = x[i]; __threadfence();"
    "last = atomicAdd(y + n, 1) == gridDim.x - 1; } __syncthreads();"
    "if (last && t == 0) for (int j = 0; j < gridDim.x; ++j) y[n + 1] += y[j];",
    "work taken by ticket": "__shared__ int w; for (;;) { if (t == 0) w = atomicAdd(y + n, 1); __syncthreads();"
    "int k = w; __syncthreads(); if (k >= 10) break; if (t < 32) y[k * 32 + t] = x[k * 32 + t]; }",
    "look-back by ticket": "__shared__ int w, s; if (t == 0) { w = atomicAdd(y + n, 1); s = 0;"
    "if (w) while ((s = vy[n + w]) == 0); __threadfence(); vy[n + w + 1] = s + x[w]; } __syncthreads();"
    "y[w * blockDim.x + t] = s;",
    "a message from a block that has started": "__shared__ int w; if (t == 0) w = atomicAdd(y + n, 1); __syncthreads();"
    "if (w == 0) { y[t] = x[t]; __threadfence(); __syncthreads(); if (t == 0) vy[n + 1] = 1; }"
    "else { if (t == 0) while (vy[n + 1] == 0); __syncthreads(); __threadfence(); y[w * blockDim.x + t] = y[t]; }",
}  # fmt: skip


def outcome(device: gs.VirtualGPU, body: str, schedule: Schedule) -> str:
    """What a launch leaves in both arrays, or the kinds of its findings."""
    with gs.use(device), device.scheduled(schedule):
        x, y = gs.to_device(np.arange(1, N + 1, dtype=np.int32)), gs.to_device(np.zeros(4 * N, np.int32))
        found = gs.cuda(HEAD + body + "}")["k"].observe(GRID, BLOCK)(x, y, N, APART).findings
    kinds = " ".join(sorted({f.kind for f in found}))
    return kinds or f"{x.numpy().tolist()} {y.numpy().tolist()}"


@pytest.fixture(scope="module")
def device() -> gs.VirtualGPU:
    return gs.VirtualGPU(workers=2, memory=64 << 20, time_limit=20)


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_what_relies_on_an_order_shows_it(device: gs.VirtualGPU, body: str) -> None:
    outcomes = {outcome(device, body, schedule) for schedule in ORDERS}
    assert len(outcomes) > 1 or outcomes == {"race"}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_what_relies_on_none_is_the_same_in_all(device: gs.VirtualGPU, body: str) -> None:
    (only,) = {outcome(device, body, schedule) for schedule in ORDERS}
    assert only.startswith("[")


@pytest.mark.parametrize("distance", [1, 31, 32, 63, 64, 65, 200])
@pytest.mark.parametrize("store", ["x[i] = v", "atomicExch(x + i, v)"], ids=["plain", "atomic"])
def test_a_neighbour_blocks_elements_in_place_are_a_race_at_every_distance(
    device: gs.VirtualGPU, distance: int, store: str
) -> None:
    with gs.use(device), device.scheduled(ONE_AT_A_TIME):
        x = gs.to_device(np.arange(N, dtype=np.int32))
        body = f"int v = i + d < n ? x[i + d] : 0; __syncthreads(); {store};"
        run = gs.cuda(HEAD + body + "}")["k"].observe(GRID, BLOCK)(x, gs.empty(N, np.int32), N, distance)
    assert {f.kind for f in run.findings} == {"race"}
