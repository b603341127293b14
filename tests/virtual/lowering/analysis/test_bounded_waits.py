"""Waits that give up: a schedule with patience lets them do so before anybody else has a turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.machine.schedule import IN_TURN, REVERSED, Schedule

PATIENT = replace(REVERSED, patience=1 << 20)
KERNEL = """

extern "C" __global__ void k(int *out) {
    __shared__ volatile int flag;
    __shared__ unsigned long long bar;
    if (threadIdx.x == 0) {
        flag = 0;
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"((unsigned)__cvta_generic_to_shared(&bar)));
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int there = 0;
        WAIT;
        out[blockIdx.x] = there;
    }
    if (threadIdx.x == 32) {
        __threadfence_block();
        flag = 1;
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"((unsigned)__cvta_generic_to_shared(&bar)) : "memory");
    }
}"""
TRY = """asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.s32 %0, 1, 0, p; }"
        : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(&bar)) : "memory")"""
BOUNDED = {
    "a count": "for (int k = 0; k < 100000 && !there; ++k) there = flag",
    "a count down": "int k = 100000; do there = flag; while (!there && --k)",
    "a clock": "for (long long since = clock64(); !there && clock64() - since < 1000;) there = flag",
    "sleeps": "for (int k = 0; k < 1000 && !there; ++k) { there = flag; __nanosleep(100); }",
    "an atomic": "for (int k = 0; k < 100000 && !there; ++k) there = atomicAdd((int *)&flag, 0)",
    "an mbarrier": f"for (int k = 0; k < 1000 && !there; ++k) {TRY}",
}
UNBOUNDED = {
    "a loop": "while (!there) there = flag",
    "sleeps": "for (int ns = 8; !there; ns = min(2 * ns, 256)) { there = flag; __nanosleep(ns); }",
    "turns": "while (!there) { for (int k = 0; k < 100 && !there; ++k) there = flag; __nanosleep(20); }",
    "longer than it has patience": "for (long long k = 0; k < 1LL << 40 && !there; ++k) there = flag",
    "an mbarrier": f"do {TRY}; while (!there)",
    "an mbarrier, counted": f"for (long long k = 0; k < 1LL << 40 && !there; ++k) {TRY}",
}


def waited(body: str, order: Schedule, *, observed: bool) -> int:
    """In how many of two blocks what was waited for was there; the warp that comes last to a barrier goes on first."""
    out = np.zeros(2, np.int32)
    kernel = gs.cuda(KERNEL.replace("WAIT", body))["k"]
    with gs.use(gs.VirtualGPU("h200", time_limit=20)) as gpu, gpu.scheduled(order):
        if observed:
            device = gs.to_device(out)
            kernel.observe(2, 64)(device)
            return int(device.numpy().sum())
        kernel[2, 64](out)
    return int(out.sum())


@pytest.mark.parametrize("observed", [False, True], ids=["fast", "observed"])
@pytest.mark.parametrize("name", BOUNDED)
def test_a_wait_that_gives_up_does_so(name: str, observed: bool) -> None:
    assert waited(BOUNDED[name], PATIENT, observed=observed) < 2
    assert waited(BOUNDED[name], IN_TURN, observed=observed) == 2


@pytest.mark.parametrize("observed", [False, True], ids=["fast", "observed"])
@pytest.mark.parametrize("name", UNBOUNDED)
def test_a_wait_that_does_not_ends(name: str, observed: bool) -> None:
    assert waited(UNBOUNDED[name], PATIENT, observed=observed) == 2


def test_patience_is_a_number() -> None:
    with pytest.raises(ValueError, match="patience is a whole number, 0 or more, not -1"):
        Schedule(patience=-1)
