"""What a wait at an mbarrier orders: what came before its phase ended, and nothing that came before it woke alone."""

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
__device__ void relaxed(unsigned long long *bar) {
    asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" :: "r"(at(bar)) : "memory");
}
__device__ void wait(unsigned long long *bar, int parity) {
    asm volatile("{ .reg .pred p;\\n L: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\\n @!p bra L; }"
        :: "r"(at(bar)), "r"(parity) : "memory");
}
extern "C" __global__ void k(int *out) {
    __shared__ unsigned long long bars[BARS];
    __shared__ int s[128], next[32];
    const int t = threadIdx.x;
    unsigned long long *bar = bars + BARS - 1, *other = bars;
    if (t < BARS) asm volatile("mbarrier.init.shared.b64 [%0], COUNT;" :: "r"(at(bars + t)));
    __syncthreads();
    for (int i = 0; i < BARS - 2; ++i) arrive(bars + i);
    s[t] = t;
    BODY
}
"""
SUM = "if (t < 32) { wait(bar, 0); THEN out[t] = s[t] + s[t + 32] + s[t + 64] + s[t + 96]; }"


def races(body: str, count: int, *, bars: int = 2) -> bool:
    """Whether a race is found in either order of the warps; there must be no other finding."""
    source = KERNEL.replace("BODY", body.replace("THEN", "")).replace("COUNT", str(count)).replace("BARS", str(bars))
    kernel, found = gs.cuda(source)["k"], set()
    with gs.use(gs.VirtualGPU("h200", time_limit=20)) as gpu:
        for order in (IN_TURN, REVERSED):
            with gpu.scheduled(order):
                found |= {f.kind for f in kernel.observe(1, 128)(gs.to_device(np.zeros(128, np.int32))).findings}
    assert found <= {"race"}
    return bool(found)


@pytest.mark.parametrize(("count", "expected"), [(65, True), (96, True), (128, False)])
def test_a_phase_that_ends_early_does_not_order_who_comes_late(count: int, expected: bool) -> None:
    assert races(f"arrive(bar); {SUM}", count) == expected


def test_who_comes_late_is_known_when_the_next_phase_has_ended() -> None:
    assert not races("arrive(bar);" + SUM.replace("THEN", "arrive(bar); arrive(bar); wait(bar, 1);"), 96)


def test_arrivals_at_one_object_say_nothing_to_who_waits_at_another() -> None:
    apart = "if (t >= 32) arrive(t < 96 ? bar : other); else { wait(bar, 0); out[t] = s[t + PLUS]; }"
    assert races(apart.replace("PLUS", "96"), 64)
    assert not races(apart.replace("PLUS", "64"), 64)


def test_what_one_has_waited_for_it_passes_on() -> None:
    chain = "if (t >= 96) arrive(bar); else if (t >= 64) { WAIT arrive(other); } "
    chain += "else if (t < 32) { wait(other, 0); out[t] = s[t + 96]; }"
    assert not races(chain.replace("WAIT", "wait(bar, 0);"), 32)
    assert races(chain.replace("WAIT", ""), 32)


def test_what_is_done_behind_an_arrival_it_does_not_release() -> None:
    behind = "if (t >= 96) { FIRST next[t - 96] = t; LAST } if (t < 32) { wait(bar, 0); out[t] = next[t]; }"
    arrive = "arrive(bar);"
    assert races(behind.replace("FIRST", arrive).replace("LAST", ""), 32)
    assert not races(behind.replace("FIRST", "").replace("LAST", arrive), 32)


@pytest.mark.parametrize(("fence", "expected"), [("", True), ("__threadfence_block();", False)])
def test_a_relaxed_arrival_gives_what_a_fence_has_released(fence: str, expected: bool) -> None:
    assert races(f"{fence} relaxed(bar); {SUM}", 128) == expected


def test_with_more_objects_than_there_is_room_for_no_order_is_missed() -> None:
    assert not races(f"arrive(bar); {SUM}", 128, bars=40)
