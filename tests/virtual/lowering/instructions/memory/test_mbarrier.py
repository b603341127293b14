"""mbarrier: phases, states and parities, transactions, warps that wait for each other, and what misuse is told."""

from __future__ import annotations

import time

import numpy as np
import pytest
from host_arrays import zeros

import gridstride as gs

RAW = """
typedef unsigned long long word;
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(word *b, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at(b)), "r"(n)); }
__device__ void inval(word *b) { asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(at(b)) : "memory"); }
__device__ word arrive(word *b, int n = 1) {
    word s; asm volatile("mbarrier.arrive.shared.b64 %0, [%1], %2;" : "=l"(s) : "r"(at(b)), "r"(n) : "memory");
    return s; }
__device__ word drop(word *b) {
    word s; asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(s) : "r"(at(b)) : "memory"); return s; }
__device__ word arrive_expect(word *b, int n) {
    word s; asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0, [%1], %2;" : "=l"(s) : "r"(at(b)), "r"(n));
    return s; }
__device__ void expect(word *b, int n) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared.b64 [%0], %1;" :: "r"(at(b)), "r"(n)); }
__device__ void complete(word *b, int n) {
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared.b64 [%0], %1;" :: "r"(at(b)), "r"(n)); }
__device__ int pending(word s) {
    int n; asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(n) : "l"(s)); return n; }
__device__ int test(word *b, word s) {
    int p; asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
        : "=r"(p) : "r"(at(b)), "l"(s) : "memory"); return p; }
__device__ int test_parity(word *b, int parity) {
    int p; asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
        : "=r"(p) : "r"(at(b)), "r"(parity) : "memory"); return p; }
__device__ int try_parity(word *b, int parity) {
    int p; asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
        : "=r"(p) : "r"(at(b)), "r"(parity) : "memory"); return p; }
__device__ void wait(word *b, int parity) { while (!try_parity(b, parity)); }
"""
BUILDS = pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])


def test_a_phase_step_by_step(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        RAW
        + """extern "C" __global__ void k(int *o) {
        __shared__ word bar;
        int i = 0;
        init(&bar, 5);
        word first = arrive(&bar);
        o[i++] = pending(first);
        o[i++] = pending(arrive(&bar, 2));
        o[i++] = test(&bar, first); o[i++] = test_parity(&bar, 0); o[i++] = test_parity(&bar, 1);
        word last = arrive(&bar, 2);
        o[i++] = pending(last);
        o[i++] = test(&bar, last); o[i++] = test_parity(&bar, 0); o[i++] = test_parity(&bar, 1);
        o[i++] = pending(drop(&bar));
        arrive(&bar, 4);
        o[i++] = test_parity(&bar, 1);
        o[i++] = pending(arrive_expect(&bar, 100));
        arrive(&bar, 3);
        o[i++] = test_parity(&bar, 0);
        complete(&bar, 60); expect(&bar, 10); complete(&bar, 50);
        o[i++] = test_parity(&bar, 0);
        inval(&bar); init(&bar, 1);
        o[i++] = test_parity(&bar, 0);
    }"""
    )["k"]
    out = zeros(15)
    kernel[1, 1](out)
    assert out.tolist() == [5, 4, 0, 0, 1, 2, 1, 1, 0, 5, 1, 4, 0, 1, 0]


@BUILDS
def test_all_threads_meet_round_after_round(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        RAW
        + """extern "C" __global__ void k(int *o, int rounds) {
        __shared__ word bar;
        __shared__ int sums[2][96];
        int t = threadIdx.x, n = blockDim.x, v = t;
        if (t == 0) init(&bar, n);
        __syncthreads();
        for (int i = 0; i < rounds; ++i) {
            sums[i % 2][t] = v;
            arrive(&bar);
            wait(&bar, i % 2);
            v = sums[i % 2][(t + 1) % n] + 1;
        }
        o[blockIdx.x * n + t] = v;
    }"""
    )["k"]
    out = zeros(3 * 96)
    kernel[3, 96](out, 37)
    assert (out.reshape(3, 96) == (np.arange(96) + 37) % 96 + 37).all()


@BUILDS
def test_a_ring_between_producer_and_consumer_warps(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    """Warp 0 fills stages with bulk copies, two warps use them: full and empty barriers, as with specialised warps."""
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        RAW
        + """extern "C" __global__ void k(const float *x, float *y, int n) {
        __shared__ alignas(128) float ring[3][64];
        __shared__ word full[3], empty[3];
        int warp = threadIdx.x / 32, t = threadIdx.x - 32;
        if (threadIdx.x == 0) for (int i = 0; i < 3; ++i) { init(full + i, 1); init(empty + i, 64); }
        __syncthreads();
        if (warp == 0) {
            if (threadIdx.x == 0) for (int i = 0; i < n; ++i) {
                int s = i % 3, round = i / 3;
                wait(empty + s, round % 2 ^ 1);
                arrive_expect(full + s, 256);
                asm volatile(
                    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::
                    "r"(at(ring[s])), "l"(x + 64 * i), "r"(at(full + s)) : "memory");
            }
        } else {
            float sum = 0;
            for (int i = 0; i < n; ++i) {
                int s = i % 3, round = i / 3;
                wait(full + s, round % 2);
                sum += ring[s][t] * ring[s][63 - t];
                arrive(empty + s);
            }
            y[t] = sum;
        }
    }"""
    )["k"]
    x = np.random.default_rng(0).integers(0, 9, (20, 64)).astype(np.float32)
    y = np.zeros(64, np.float32)
    kernel[1, 96](x.ravel(), y, 20)
    assert (y == (x * x[:, ::-1]).sum(0)).all()


@BUILDS
def test_lanes_of_one_warp_wait_for_another_lane(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        RAW
        + """extern "C" __global__ void k(volatile int *o) {
        __shared__ word bar;
        __shared__ volatile int value;
        if (threadIdx.x == 0) init(&bar, 1);
        __syncwarp();
        if (threadIdx.x != 9) { wait(&bar, 0); o[threadIdx.x] = value; }
        else { value = 7; arrive(&bar); }
    }"""
    )["k"]
    out = zeros(32)
    kernel[1, 32](out)
    assert out.tolist() == [7 * (t != 9) for t in range(32)]


def test_copies_of_a_thread_arrive_when_they_have_landed(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        RAW
        + """extern "C" __global__ void k(const int *x, int *y, int noinc) {
        __shared__ int s[64];
        __shared__ word bar;
        int t = threadIdx.x;
        if (t == 0) init(&bar, 64);
        __syncthreads();
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at(s + t)), "l"(x + t) : "memory");
        if (noinc) asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(at(&bar)) : "memory");
        else {
            asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" :: "r"(at(&bar)) : "memory");
            arrive(&bar);
        }
        wait(&bar, 0);
        y[t] = s[63 - t];
    }"""
    )["k"]
    for noinc in (0, 1):
        x = np.arange(64, dtype=np.int32)
        y, z = zeros(64), zeros(64)
        kernel[1, 64](x, y, noinc)
        run = kernel.observe(1, 64)(x, z, noinc)
        assert run.findings == ()
        assert (y == x[::-1]).all()
        assert (z == x[::-1]).all()


@BUILDS
def test_each_lane_may_wait_for_a_barrier_of_its_own(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        RAW
        + """extern "C" __global__ void k(const int *x, int *y) {
        __shared__ alignas(16) int s[32][4];
        __shared__ word bars[32];
        int t = threadIdx.x;
        init(bars + t, 1);
        __syncwarp();
        int other = (t + 5) % 32;
        arrive_expect(bars + other, 16);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];" ::
            "r"(at(s[other])), "l"(x + 4 * other), "r"(at(bars + other)) : "memory");
        wait(bars + t, 0);
        y[t] = s[t][0] + s[t][3];
    }"""
    )["k"]
    x, y = np.arange(128, dtype=np.int32), zeros(32)
    kernel[1, 32](x, y)
    assert (y == 8 * np.arange(32) + 3).all()


MISUSE = {
    "not initialised": ("arrive(&bar);", "mbarrier", "no mbarrier object at offset 0 of shared memory"),
    "invalidated": ("init(&bar, 1); inval(&bar); test_parity(&bar, 0);", "mbarrier", "no mbarrier object"),
    "no count": ("init(&bar, o[0]);", "mbarrier", "cannot expect 0 arrivals"),
    "one too many": ("init(&bar, 3); arrive(&bar, 2); arrive(&bar, 2);", "mbarrier", "expects 3, and all of them"),
    "too many bytes": ("init(&bar, 1); expect(&bar, 1 << 19); expect(&bar, 1 << 19);", "mbarrier", "come to 1048576"),
    "not aligned": ("init((word *)((char *)&bar + 4 * o[1]), 1);", "misaligned", "not a multiple of 8"),
    "nobody arrives": ("init(&bar, 2); arrive(&bar); wait(&bar, 0);", "deadlock", "warp 0 at the barrier in line 27"),
}


@BUILDS
@pytest.mark.parametrize("mistake", MISUSE)
def test_misuse_is_a_finding(gpu: gs.VirtualGPU, mistake: str, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    text, kind, message = MISUSE[mistake]
    kernel = gs.cuda(RAW + f"""extern "C" __global__ void k(volatile int *o) {{
        __shared__ word all[2]; word &bar = all[0]; if (o[1]) all[0] = all[1] = 0;
        {text}
    }}""")["k"]  # fmt: skip
    out, start = zeros(2), time.process_time()
    out[1] = 1
    with pytest.raises(gs.KernelFault, match=message) as fault:
        kernel[1, 1](out)
    assert fault.value.kind == kind
    assert fault.value.line is not None
    if kind != "misaligned":
        assert "mbarrier" in "".join(RAW.splitlines()[fault.value.line - 1 : fault.value.line + 1])
    assert time.process_time() - start < 10


LIBRARY = """#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
"""


@BUILDS
def test_a_barrier_of_libcudacxx(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        LIBRARY
        + """extern "C" __global__ void k(const int *x, int *y, int n) {
        __shared__ cuda::barrier<cuda::thread_scope_block> bar;
        __shared__ alignas(16) int s[2][128];
        auto block = cg::this_thread_block();
        if (block.thread_rank() == 0) init(&bar, block.size());
        block.sync();
        int sum = 0;
        for (int i = 0; i < n; ++i) {
            cuda::memcpy_async(block, s[i % 2], x + 128 * i, cuda::aligned_size_t<16>(512), bar);
            bar.arrive_and_wait();
            sum += s[i % 2][127 - threadIdx.x];
        }
        y[threadIdx.x] = sum;
    }"""
    )["k"]
    x, y = np.arange(5 * 128, dtype=np.int32), zeros(128)
    kernel[1, 128](x, y, 5)
    assert (y == x.reshape(5, 128).sum(0)[::-1]).all()


@BUILDS
def test_a_pipeline_of_libcudacxx_with_two_stages(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        LIBRARY
        + """extern "C" __global__ void k(const int *x, int *y, int n) {
        __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
        __shared__ alignas(16) int s[2][128];
        auto block = cg::this_thread_block();
        auto pipe = cuda::make_pipeline(block, &state);
        int sum = 0;
        for (int load = 0, use = 0; use < n; ++use) {
            for (; load < n && load < use + 2; ++load) {
                pipe.producer_acquire();
                cuda::memcpy_async(block, s[load % 2], x + 128 * load, cuda::aligned_size_t<4>(512), pipe);
                pipe.producer_commit();
            }
            pipe.consumer_wait();
            sum = 3 * sum + s[use % 2][127 - threadIdx.x];
            pipe.consumer_release();
        }
        y[threadIdx.x] = sum;
    }"""
    )["k"]
    x, y = np.random.default_rng(0).integers(0, 9, (7, 128)).astype(np.int32), zeros(128)
    kernel[1, 128](x.ravel(), y, 7)
    want = zeros(128)
    for row in x:
        want = 3 * want + row[::-1]
    assert (y == want).all()


def test_memcpy_async_of_cooperative_groups(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        LIBRARY
        + """extern "C" __global__ void k(const int *x, int *y) {
        __shared__ int s[100];
        auto block = cg::this_thread_block();
        cg::memcpy_async(block, s, x + 100 * blockIdx.x, sizeof s);
        cg::wait(block);
        for (int i = threadIdx.x; i < 100; i += blockDim.x) y[100 * blockIdx.x + i] = s[99 - i];
    }"""
    )["k"]
    x, y, z = np.arange(300, dtype=np.int32), zeros(300), zeros(300)
    kernel[3, 64](x, y)
    assert kernel.observe(3, 64)(x, z).findings == ()
    for out in (y, z):
        assert (out == x.reshape(3, 100)[:, ::-1].ravel()).all()
