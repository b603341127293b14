"""Lanes that arrive at an mbarrier, or wait at one, for the others of their warp."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.machine.schedule import IN_TURN, REVERSED

KERNEL = """
__device__ unsigned at(void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void arrive(unsigned long long *bar) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at(bar)) : "memory");
}
__device__ void wait(unsigned long long *bar, int parity) {
    int over = 0;
    while (!over)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }"
            : "=r"(over) : "r"(at(bar)), "r"(parity) : "memory");
}
extern "C" __global__ void k(int *out) {
    __shared__ unsigned long long full, empty;
    __shared__ int tile[32];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], COUNT;" :: "r"(at(&full)));
        asm volatile("mbarrier.init.shared.b64 [%0], COUNT;" :: "r"(at(&empty)));
    }
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < 4; ++k) {
        if (threadIdx.x >= 32) {
            if (k > 0) { WAIT_EMPTY; }
            tile[lane] = k + lane;
            ARRIVE_FULL;
        } else {
            WAIT_FULL;
            sum += tile[31 - lane];
            ARRIVE_EMPTY;
        }
    }
    if (threadIdx.x < 32) out[lane] = sum;
}"""
ONE = {
    "ARRIVE_FULL": "__syncwarp(); if (lane == 0) arrive(&full)",
    "WAIT_FULL": "if (lane == 0) wait(&full, k & 1); __syncwarp()",
    "ARRIVE_EMPTY": "__syncwarp(); if (lane == 0) arrive(&empty)",
    "WAIT_EMPTY": "if (lane == 0) wait(&empty, (k - 1) & 1); __syncwarp()",
}
ALL = {each: text.replace("__syncwarp(); ", "").replace("; __syncwarp()", "").replace("if (lane == 0) ", "")
       for each, text in ONE.items()}  # fmt: skip


def found(steps: dict[str, str], count: int) -> set[tuple[str, bool]]:
    """Kinds of findings, and whether they say what is missing, in both orders; the sums must be right."""
    source = KERNEL.replace("COUNT", str(count))
    for name, text in steps.items():
        source = source.replace(name, text)
    kernel, kinds = gs.cuda(source)["k"], set()
    with gs.use(gs.VirtualGPU("h200", time_limit=20)) as gpu:
        for order in (IN_TURN, REVERSED):
            with gpu.scheduled(order):
                out = gs.to_device(np.zeros(32, np.int32))
                kinds |= {(f.kind, "__syncwarp()" in f.message) for f in kernel.observe(1, 64)(out).findings}
                assert out.numpy().tolist() == [6 + 4 * (31 - lane) for lane in range(32)]
    return kinds


def test_one_lane_behind_a_syncwarp_acts_for_its_warp() -> None:
    assert found(ONE, 1) == set()


def test_each_lane_acts_for_itself() -> None:
    assert found(ALL, 32) == set()


@pytest.mark.parametrize("name", ONE)
def test_one_lane_without_a_syncwarp_does_not(name: str) -> None:
    wrong = ONE[name].replace("__syncwarp(); ", "").replace("; __syncwarp()", "")
    assert found({**ONE, name: wrong}, 1) == {("race", True)}


@pytest.mark.parametrize("lanes", ["lane < 16", "lane % 2"])
def test_a_mask_brings_those_together_that_it_names(lanes: str) -> None:
    """Two lanes act, each behind a __syncwarp() with its half of the warp."""
    half = f"unsigned half = __ballot_sync(~0u, {lanes}); if (!({lanes})) half = ~half; __syncwarp(half); "
    act = "if (lane == __ffs(half) - 1) "
    steps = {
        "ARRIVE_FULL": f"{half}{act}arrive(&full)",
        "WAIT_FULL": f"{half}{act}wait(&full, k & 1); __syncwarp(half)",
        "ARRIVE_EMPTY": f"__syncwarp(half); {act}arrive(&empty)",
        "WAIT_EMPTY": f"{half}{act}wait(&empty, (k - 1) & 1); __syncwarp(half)",
    }
    assert found(steps, 2) == set()


@pytest.mark.parametrize("between", ["__shfl_sync(~0u, k, 0)", "__any_sync(~0u, k)"])
def test_whatever_brings_lanes_together_will_do(between: str) -> None:
    steps = {each: text.replace("__syncwarp()", between) for each, text in ONE.items()}
    assert found(steps, 1) == set()
