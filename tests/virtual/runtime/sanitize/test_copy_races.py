"""A ring of stages that asynchronous copies fill: who has read a stage says so before it is filled again."""

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
    asm volatile("{ .reg .pred p;\\n L%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\\n @!p bra L%=; }"
        :: "r"(at(bar)), "r"(parity) : "memory");
}
extern "C" __global__ void k(const int *x, int *out) {
    __shared__ alignas(128) int s[2][128];
    __shared__ unsigned long long full[2], empty[2];
    const int t = threadIdx.x;
    if (t < 2) {
        asm volatile("mbarrier.init.shared.b64 [%0], FULL;" :: "r"(at(full + t)));
        asm volatile("mbarrier.init.shared.b64 [%0], 128;" :: "r"(at(empty + t)));
    }
    __syncthreads();
    int sum = 0;
    auto fetch = [&](int i) {
        const int q = i & 1;
        COPY
    };
    fetch(0);
    for (int i = 0; i < 8; ++i) {
        if (i < 7) fetch(i + 1);
        wait(full + (i & 1), i / 2 & 1);
        EARLY
        sum += s[i & 1][(t + 32) % 128];
        LATE
    }
    out[t] = sum;
}"""
ARRIVE = "arrive(empty + (i & 1));"
COPIES = {
    "cp.async": (128, "wait(empty + q, (i / 2 & 1) ^ 1);"
        'asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"'
        ' :: "r"(at(&s[q][t])), "l"(x + i * 128 + t) : "memory");'
        'asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(at(full + q)) : "memory");'),
    "bulk": (1, "if (t == 0) { wait(empty + q, (i / 2 & 1) ^ 1);"
        'asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 512;" :: "r"(at(full + q)) : "memory");'
        'asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];"'
        ' :: "r"(at(s[q])), "l"(x + i * 128), "r"(at(full + q)) : "memory"); } __syncwarp();'),
}  # fmt: skip


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("early", [False, True])
def test_a_stage_is_free_when_its_readers_have_been_through(copy: str, early: bool) -> None:
    count, text = COPIES[copy]
    source = KERNEL.replace("COPY", text).replace("FULL", str(count))
    source = source.replace("EARLY", ARRIVE if early else "").replace("LATE", "" if early else ARRIVE)
    kernel, kinds, x = gs.cuda(source)["k"], set(), np.arange(1024, dtype=np.int32)
    with gs.use(gs.VirtualGPU("h200", time_limit=20)) as gpu:
        for order in (IN_TURN, REVERSED):
            with gpu.scheduled(order):
                out = gs.to_device(np.zeros(128, np.int32))
                kinds |= {finding.kind for finding in kernel.observe(1, 128)(gs.to_device(x), out).findings}
                if not early:
                    assert (out.numpy() == np.roll(x.reshape(8, 128).sum(0), -32)).all()
    assert kinds == ({"race"} if early else set())


def test_a_stage_behind_a_barrier_of_the_block_is_free() -> None:
    """Two stages and no mbarrier: the copies of the next stage begin behind the barrier that follows the reads."""
    source = """extern "C" __global__ void k(const int *x, int *out) {
        __shared__ int s[2][128]; const int t = threadIdx.x; int sum = 0;
        auto fetch = [&](int i) { __pipeline_memcpy_async(&s[i & 1][t], x + i * 128 + t, 4); __pipeline_commit(); };
        fetch(0);
        for (int i = 0; i < 8; ++i) {
            FIRST
            if (i < 7) fetch(i + 1); else __pipeline_commit();
            __pipeline_wait_prior(1);
            __syncthreads();
            sum += s[i & 1][(t + 32) % 128];
            LAST
        }
        out[t] = sum; }"""
    for first, last, race in (("__syncthreads();", "", False), ("", "__syncthreads();", False), ("", "", True)):
        text = "#include <cuda_pipeline.h>\n" + source.replace("FIRST", first).replace("LAST", last)
        with gs.use(gs.VirtualGPU("h200", time_limit=20)):
            arrays = gs.to_device(np.arange(1024, dtype=np.int32)), gs.to_device(np.zeros(128, np.int32))
            assert bool(gs.cuda(text)["k"].observe(1, 128)(*arrays).findings) == race


RING_OF_A_WARP = """
__device__ unsigned at(void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(const int *x, int *out) {
    __shared__ alignas(128) int s[2][32];
    __shared__ unsigned long long full[2];
    const int t = threadIdx.x;
    if (t < 2) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at(full + t)));
    __syncwarp();
    auto fetch = [&](int i) {
        if (t == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 128;" :: "r"(at(full + i % 2)) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];"
                :: "r"(at(s[i % 2])), "l"(x + i * 32), "r"(at(full + i % 2)) : "memory");
        }
    };
    int sum = 0;
    fetch(0);
    for (int i = 0; i < 8; ++i) {
        if (i < 7) fetch(i + 1);
        asm volatile("{ .reg .pred p;\\n L%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\\n @!p bra L%=; }"
            :: "r"(at(full + i % 2)), "r"(i / 2 & 1) : "memory");
        sum += s[i % 2][31 - t];
        LAST
    }
    out[t] = sum;
}"""


@pytest.mark.parametrize(("last", "race"), [("__syncwarp();", False), ("", True)])
def test_one_lane_fills_a_stage_when_the_others_have_read_it(last: str, race: bool) -> None:
    kernel = gs.cuda(RING_OF_A_WARP.replace("LAST", last))["k"]
    with gs.use(gs.VirtualGPU("h200", time_limit=20)):
        arrays = gs.to_device(np.arange(256, dtype=np.int32)), gs.to_device(np.zeros(32, np.int32))
        assert {finding.kind for finding in kernel.observe(1, 32)(*arrays).findings} == ({"race"} if race else set())


WAITS = {
    "a warp waits for itself": ("if (t == 0) fetch(); WAIT", 1),
    "another warp has started it": ("if (t == 32) fetch(); if (t < 32) { WAIT }", 1),
    "lanes copy each for itself": ("if (t < 32) { asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\" :: "
        "\"r\"(at(&s[t])), \"l\"(x + t) : \"memory\"); "
        "asm volatile(\"cp.async.mbarrier.arrive.noinc.shared.b64 [%0];\" :: \"r\"(at(&full)) : \"memory\"); "
        "WAIT }", 32),
}  # fmt: skip
"""What starts a copy of 32 words, and for how many arrivals its mbarrier waits."""
WAITING = {
    "all lanes": ("wait();", False),
    "each half": ("if (t < 16) wait(); else { __nanosleep(20); wait(); }", False),
    "one lane behind a __syncwarp": ("if (t == 0) wait(); __syncwarp();", False),
    "one lane and a flag": ("if (t == 0) { wait(); __threadfence_block(); flag = 1; } while (!flag) {} "
        "__threadfence_block();", False),
    "one lane": ("if (t == 0) wait();", True),
}  # fmt: skip


@pytest.mark.parametrize("start", WAITS)
@pytest.mark.parametrize("way", WAITING)
def test_who_waits_for_a_copy_does_so_for_itself(start: str, way: str) -> None:
    (body, count), (wait, race) = WAITS[start], WAITING[way]
    source = """__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
    extern "C" __global__ void k(const int *x, int *out) {
        __shared__ alignas(128) int s[32];
        __shared__ unsigned long long full;
        __shared__ volatile int flag;
        const int t = threadIdx.x;
        if (t == 0) { flag = 0; asm volatile("mbarrier.init.shared.b64 [%0], COUNT;" :: "r"(at(&full))); }
        __syncthreads();
        auto fetch = [&] {
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 128;" :: "r"(at(&full)) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];"
                :: "r"(at(s)), "l"(x), "r"(at(&full)) : "memory");
        };
        auto wait = [&] {
            asm volatile("{ .reg .pred p;\\n L%=: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\\n @!p bra L%=; }"
                :: "r"(at(&full)) : "memory");
        };
        BODY
        if (t < 32) out[t] = s[31 - t];
    }""".replace("BODY", body.replace("WAIT", wait)).replace("COUNT", str(count))
    kernel, kinds, x = gs.cuda(source)["k"], set(), np.arange(32, dtype=np.int32)
    with gs.use(gs.VirtualGPU("h200", time_limit=20)) as gpu:
        for order in (IN_TURN, REVERSED):
            with gpu.scheduled(order):
                out = gs.to_device(np.zeros(32, np.int32))
                kinds |= {finding.kind for finding in kernel.observe(1, 64)(gs.to_device(x), out).findings}
                assert race or (out.numpy() == x[::-1]).all()
    assert kinds == ({"race"} if race else set())
