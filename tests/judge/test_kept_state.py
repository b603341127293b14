"""What a kernel keeps from launch to launch is told from mistakes within one: by a launch of the module loaded anew."""

from __future__ import annotations

import pytest

from gridstride.judge.find import find
from gridstride.judge.header import parse_kernel
from gridstride.judge.ladder import Ladder
from gridstride.judge.verdict import Finding
from gridstride.virtual.gpu import VirtualGPU

KEPT = "something is kept from the launches before"
GUESSES = ("overflow", "ever store its result", "grid is too small", "last full group")

TILES_RUN_OUT = """// grid: 64
// block: 256
__device__ unsigned int next_tile;
__global__ void add(const float* a, const float* b, float* c, int n)
{
    __shared__ unsigned int tile;
    const unsigned int tiles = (n + 255) / 256;
    for (;;) {
        if (threadIdx.x == 0) tile = atomicInc(&next_tile, tiles + gridDim.x);
        __syncthreads();
        const unsigned int mine = tile;
        __syncthreads();
        if (mine >= tiles) return;
        const int i = mine * 256 + threadIdx.x;
        if (i < n) c[i] = a[i] + b[i];
    }
}"""

FIRST_KEPT = """// grid: ceil(n/256)
// block: 256
__device__ float first;
__device__ int known;
__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i == 0) {
        if (!known) { known = 1; first = b[0]; }
        c[0] = a[0] + first;
    } else if (i < n) c[i] = a[i] + b[i];
}"""

WRONG_WITH_SOME_DATA = """// grid: ceil(n/256)
// block: 256
__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) c[i] = a[i] > 3.0f ? 3.0f : a[i] + b[i];
}"""


def finding_of(source: str, problem: str = "vector_add") -> Finding:
    climbing = Ladder(find(problem), device=VirtualGPU("h200", time_limit=20), seed=3)
    try:
        return climbing.judge(parse_kernel(source)).findings[0]
    finally:
        climbing.close()


@pytest.mark.parametrize("source", [TILES_RUN_OUT, FIRST_KEPT])
def test_state_from_the_launches_before_is_named_and_nothing_else_is_guessed(source: str) -> None:
    finding = finding_of(source)
    assert finding.kind == "wrong_result"
    assert KEPT in finding.message
    assert not [guess for guess in GUESSES if guess in finding.message]


def test_what_the_launch_did_not_write_is_said_to_be_unwritten_and_no_thread_is_blamed() -> None:
    finding = finding_of(TILES_RUN_OUT)
    assert finding.pattern == "never_written"
    assert "was written on line" not in finding.message


def test_data_that_a_kernel_without_state_gets_wrong_are_not_called_state() -> None:
    finding = finding_of(WRONG_WITH_SOME_DATA)
    assert finding.kind == "wrong_result"
    assert "kept" not in finding.message
