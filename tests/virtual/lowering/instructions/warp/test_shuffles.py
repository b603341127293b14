"""A shuffle from a lane that does not execute it gives 0, as on an H200 (seen there on 28 November 2026)."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

LANES = """
__global__ void lanes(const float* in, float* out) {
    int t = threadIdx.x;
    float v = in[t];
    unsigned m = __ballot_sync(~0u, t < 8);
    if (t < 8)
        for (int k = 0, offset = 16; offset > 0; offset /= 2, ++k) out[32 * k + t] = __shfl_down_sync(m, v, offset);
}
__global__ void sum(const float* in, float* out) {
    __shared__ float partial[32];
    int t = threadIdx.x;
    float v = in[t];
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(~0u, v, offset);
    if (t % 32 == 0) partial[t / 32] = v;
    __syncthreads();
    unsigned m = __ballot_sync(~0u, t < 8);
    if (t < 8) {
        v = partial[t];
        for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(m, v, offset);
    }
    if (t == 0) out[0] = v;
}
__global__ void one(const float* in, float* out) {
    int t = threadIdx.x;
    if (t < 8) out[t] = __shfl_sync(0xff, in[t], 20);
}
"""


@pytest.fixture
def inputs() -> np.ndarray:
    return np.arange(1, 257, dtype=np.float32)


def test_only_lanes_that_take_part_give_their_values(inputs: np.ndarray) -> None:
    out = np.full((5, 32), -1, np.float32)
    gs.cuda(LANES)["lanes"][1, 32](inputs, out)
    for row, offset in zip(out, (16, 8, 4, 2, 1), strict=True):
        assert row[:8].tolist() == [lane + offset + 1 if lane + offset < 8 else 0 for lane in range(8)]


def test_eight_lanes_sum_what_warps_left_in_shared_memory(inputs: np.ndarray) -> None:
    out = np.zeros(1, np.float32)
    gs.cuda(LANES)["sum"][1, 256](inputs, out)
    assert out[0] == inputs.sum()


def test_a_lane_that_is_named_and_not_there_gives_0(inputs: np.ndarray) -> None:
    out = np.full(8, -1, np.float32)
    gs.cuda(LANES)["one"][1, 32](inputs, out)
    assert out.tolist() == [0] * 8
