"""Barriers: named ones, reductions, lanes that leave, come from two places or compute which one they meet at."""

from __future__ import annotations

import numpy as np
import pytest
from host_arrays import zeros

import gridstride as gs


def test_named_barriers_hold_the_threads_they_count(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(int *o) {
        __shared__ int a[128], b[64];
        int t = threadIdx.x;
        if (t < 64) {                       // producers: hand over, and do not wait
            a[t] = t * t;
            asm volatile("bar.arrive 1, 128;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
            o[t] = -t;
        } else if (t < 128) {               // consumers
            asm volatile("bar.sync 1, 128;" ::: "memory");
            b[t - 64] = a[127 - t];
            asm volatile("bar.sync 3, 64;" ::: "memory");
            o[t] = b[(t + 1) % 64];
        }
    }""")["k"]
    out = zeros(128)
    kernel[2, 160](out)
    b = (63 - np.arange(64)) ** 2
    assert (out == np.concatenate([-np.arange(64), np.roll(b, -1)])).all()


@pytest.mark.parametrize("n", [128, 100, 77, 1])
def test_reductions_at_a_barrier_count_the_threads_that_are_left(gpu: gs.VirtualGPU, n: int) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(int *o, int n) {
        int i = threadIdx.x;
        if (i >= n) { o[i] = -1; return; }
        int c = 0, a = 0, r = 0;
        for (int j = 0; j < 3; ++j) {
            c += __syncthreads_count((i >> j) & 1);
            a += __syncthreads_and(i < n - j);
            r += __syncthreads_or(i == n - 1 + j);
        }
        o[i] = c * 100 + a * 10 + r;
    }""")["k"]
    out = zeros(128)
    kernel[1, 128](out, n)
    count = sum((i >> j) & 1 for i in range(n) for j in range(3))
    assert (out[:n] == 100 * count + 11).all()
    assert (out[n:] == -1).all()


def test_lanes_that_leave_early_do_not_hold_up_a_barrier(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(const int *x, int *o) {
        __shared__ int s[100];
        int t = threadIdx.x;
        s[t] = x[t];
        for (int round = 0; round < 5; ++round) {
            if (x[t] % 5 == round) { o[t] = round; return; }
            __syncthreads();
            s[t] += round;
            __syncthreads();
        }
        o[t] = 99;
    }""")["k"]
    x, out = np.arange(100, dtype=np.int32) * 7, zeros(100)
    kernel[2, 100](x, out)
    assert (out == x % 5).all()


def test_a_barrier_in_a_function_that_lanes_call_from_two_places(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    __device__ __noinline__ int meet(int *s, int v) {
        s[threadIdx.x] = v;
        asm volatile("barrier.sync 0;" ::: "memory");
        return s[threadIdx.x ^ 1];
    }
    extern "C" __global__ void k(int *o) {
        __shared__ int s[64];
        int t = threadIdx.x;
        if (t % 4 == 3) o[t] = meet(s, 100 + t);
        else o[t] = meet(s, t);
    }""")["k"]
    out, t = zeros(64), np.arange(64)
    kernel[1, 64](out)
    assert (out == (t ^ 1) + 100 * ((t ^ 1) % 4 == 3)).all()


ARMS = """
extern "C" __global__ void arms(int* out, int w) {
    const int t = threadIdx.x;
    int x = 0;
    for (int r = 0; r < 6; r++) {
        if ((r + t) % 3 == 0) { asm volatile("barrier.sync 0;" ::: "memory"); x += 100; continue; }
        if ((r + t) % 3 == 1) {
            asm volatile("barrier.sync 0;" ::: "memory");
            x += 10;
            if (t % 5 == w) { asm volatile("barrier.sync 0;" ::: "memory"); x += 1000; r++; }
            continue;
        }
        asm volatile("barrier.sync 0;" ::: "memory");
        x += 1;
    }
    out[t] = x;
}
"""


def what_arms_gives(t: int, w: int) -> int:
    x = r = 0
    while r < 6:
        kind = (r + t) % 3
        x += (100, 10, 1)[kind]
        if kind == 1 and t % 5 == w:
            x, r = x + 1000, r + 1
        r += 1
    return x


@pytest.mark.parametrize("threads", [32, 64, 100])
@pytest.mark.parametrize("w", [9, 1])
def test_lanes_let_go_by_a_barrier_are_not_held_for_its_next_turn(gpu: gs.VirtualGPU, threads: int, w: int) -> None:
    out = np.zeros(threads, np.int32)
    gs.cuda(ARMS)["arms"][1, threads](out, w)
    assert out.tolist() == [what_arms_gives(t, w) for t in range(threads)]


COMPUTED = """extern "C" __global__ void k(int *o, int by) {
    __shared__ int s[256];
    int t = threadIdx.x, group = t / 64;
    s[t] = t;
    asm volatile("bar.sync %0, %1;" :: "r"(1 + t / by), "r"(64) : "memory");
    o[t] = s[group * 64 + 63 - t % 64];
}"""


@pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])
def test_warps_compute_which_barrier_they_meet_at(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    """As CUTLASS has it, a barrier for each warpgroup: the number is the same in a warp, though it varies by thread."""
    gpu.sanitize = sanitize
    out = np.zeros(256, np.int32)
    gs.cuda(COMPUTED)["k"][1, 256](out, 64)
    assert (out == np.arange(256).reshape(4, 64)[:, ::-1].reshape(-1)).all()


def test_lanes_that_compute_different_barriers_are_a_finding(gpu: gs.VirtualGPU) -> None:
    with pytest.raises(gs.KernelFault, match="the same in all threads of a warp") as caught:
        gs.cuda(COMPUTED)["k"][1, 256](np.zeros(256, np.int32), 48)
    assert (caught.value.kind, caught.value.line) == ("invalid_instruction", 5)
