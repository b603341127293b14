"""Lanes that arrive at an mbarrier, set a flag or count, or wait for copies, for the others of their warp."""

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


FLAGS = """
extern "C" __global__ void k(int *out) {
    __shared__ int tile[32], count; __shared__ volatile int flag, flags[32];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) count = 0, flag = 0;
    flags[lane] = 0;
    __syncthreads();
    if (threadIdx.x >= 32) {
        tile[lane] = lane;
        TELL;
    } else {
        WAIT;
        FENCE;
        out[lane] = tile[31 - lane];
    }
}"""
COUNTED = "while (*(volatile int *)&count < 1) {}"
TOLD = {
    "a count behind a __syncwarp": ("FENCE; __syncwarp(); if (lane == 0) atomicAdd(&count, 1)", COUNTED),
    "a fence behind a __syncwarp": ("__syncwarp(); FENCE; if (lane == 0) atomicAdd(&count, 1)", COUNTED),
    "a count by each": ("FENCE; atomicAdd(&count, 1)", "while (atomicAdd(&count, 0) < 32) {}"),
    "a count by the last": ("FENCE; if (atomicAdd(&count, 1) == 31) { FENCE; flag = 1; }",
        "while (!flag) {}"),
    "a flag of each": ("FENCE; flags[lane] = 1", "while (!flags[31 - lane]) {}"),
    "a flag of each half": ("FENCE; if (lane < 16) flags[lane] = 1; else flags[lane] = 2",
        "while (!flags[31 - lane]) {}"),
    "a flag that one sets when it has seen all": ("FENCE; flags[lane] = 1; if (lane == 3) { "
        "for (int i = 0; i < 32; ++i) while (!flags[i]) {} FENCE; flag = 1; }", "while (!flag) {}"),
    "a flag in a mask of two": ("FENCE; __syncwarp(); if (lane % 16 == 0) atomicAdd(&count, 1)",
        "while (*(volatile int *)&count < 2) {}"),
}  # fmt: skip
NOT_TOLD = {
    "a count": ("FENCE; if (lane == 0) atomicAdd(&count, 1)", COUNTED),
    "a count by the last lane": ("FENCE; if (lane == 31) atomicAdd(&count, 1)", COUNTED),
    "a flag": ("FENCE; if (lane == 0) flag = 1", "while (!flag) {}"),
    "flags of one half": ("FENCE; if (lane < 16) flags[lane] = 1", "while (!flags[lane % 16]) {}"),
    "a count by half": ("FENCE; if (lane < 16) atomicAdd(&count, 1)",
        "while (*(volatile int *)&count < 16) {}"),
}  # fmt: skip


def told(tell: str, wait: str) -> set[tuple[str, bool]]:
    """Kinds of findings, and whether they say what is missing, in both orders; the values must be right."""
    source = FLAGS.replace("TELL", tell).replace("WAIT", wait).replace("FENCE", "__threadfence_block()")
    kernel, kinds = gs.cuda(source)["k"], set()
    with gs.use(gs.VirtualGPU("h200", time_limit=20)) as gpu:
        for order in (IN_TURN, REVERSED):
            with gpu.scheduled(order):
                out = gs.to_device(np.zeros(32, np.int32))
                kinds |= {(f.kind, "__syncwarp()" in f.message) for f in kernel.observe(1, 64)(out).findings}
                assert out.numpy().tolist() == list(range(31, -1, -1))
    return kinds


@pytest.mark.parametrize("name", TOLD)
def test_who_tells_of_what_it_knows_may_be_one_lane(name: str) -> None:
    assert told(*TOLD[name]) == set()


@pytest.mark.parametrize("name", NOT_TOLD)
def test_a_fence_of_each_lane_tells_nobody(name: str) -> None:
    assert told(*NOT_TOLD[name]) == {("race", True)}
