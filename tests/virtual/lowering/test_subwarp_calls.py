"""Functions that wait and stay functions: recursive, virtual or called through pointers, by part of a warp."""

from __future__ import annotations

import time

import numpy as np
import pytest
from host_arrays import zeros

import gridstride as gs

PLACEMENT = """
#define MEET __barrier_sync(0)
typedef decltype(sizeof(0)) size;
struct Here {};
__device__ inline void *operator new(size, Here, void *p) { return p; }
__shared__ int box[128];
"""


@pytest.mark.parametrize("threads", [32, 50, 128])
@pytest.mark.parametrize("sanitize", [False, True])
def test_barriers_in_virtual_functions_that_split_every_warp(threads: int, sanitize: bool) -> None:
    with gs.use(gs.VirtualGPU(workers=1, memory=64 << 20, time_limit=20, sanitize=sanitize)):
        kernel = gs.cuda(
            PLACEMENT
            + """
        struct Zero { int v; __device__ Zero(int v) : v(v) {}
            __device__ virtual int run(int t) { return v + meet(t, t + v); }
            __device__ int meet(int t, int mine) const {
                box[t] = mine; MEET; int r = box[(t + 1) % blockDim.x]; MEET; return r; } };
        struct One : Zero { __device__ One(int v) : Zero(v) {}
            __device__ int run(int t) override { box[t] = 100 * t; MEET;
                int r = box[(t + 1) % blockDim.x]; MEET; return -r; } };
        struct Two : One { __device__ Two(int v) : One(v) {}
            __device__ int run(int t) override { return 7 * One::run(t); } };
        extern "C" __global__ void k(int *o, long long *memory) {
            int t = threadIdx.x; Zero *z; void *at = memory + 2 * t;
            if (t % 3 == 0) z = new (Here(), at) Zero(t);
            else if (t % 3 == 1) z = new (Here(), at) One(t);
            else z = new (Here(), at) Two(t);
            int sum = 0;
            for (int i = 0; i < 3; ++i) sum += z->run(t) + i;
            o[t] = sum;
        }"""
        )["k"]
        out = zeros(threads)
        kernel[1, threads](out, np.zeros(2 * threads, np.int64))
    t = np.arange(threads)
    wrote = np.where(t % 3 == 0, 2 * t, 100 * t)
    read = np.roll(wrote, -1)
    each = np.choose(t % 3, [t + read, -read, -7 * read])
    assert (out == 3 * each + 3).all()


@pytest.mark.parametrize(
    ("call", "found"), [("if (t & 1) o[t] = f(o, 2); else o[t] = f(o, 3);", True), ("o[t] = f(o, 2);", False)]
)
def test_an_aligned_barrier_that_part_of_a_warp_comes_to_is_a_finding(call: str, found: bool) -> None:
    source = """__device__ __noinline__ int f(volatile int *o, int n) {
        if (n == 0) return 0;
        __syncthreads();
        return o[threadIdx.x] + f(o, n - 1);
    }
    extern "C" __global__ void k(int *o) { int t = threadIdx.x; CALL }""".replace("CALL", call)
    with gs.use(gs.VirtualGPU(workers=1, memory=64 << 20, time_limit=20)):
        findings = gs.cuda(source)["k"].observe(1, 32)(zeros(32)).findings
    assert [(each.kind, each.line) for each in findings] == [("barrier_divergence", 3)] * found


def test_recursion_with_a_barrier_reached_from_two_places(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    __device__ __noinline__ int down(int *s, int n) {
        if (n == 0) return 0;
        atomicAdd(s, 1); __syncthreads();
        int v = *(volatile int *)s; __syncthreads();
        return v + down(s, n - 1);
    }
    extern "C" __global__ void k(int *o) {
        __shared__ int s;
        if (threadIdx.x == 0) s = 0;
        __syncthreads();
        if (threadIdx.x % 2) o[threadIdx.x] = down(&s, 3);
        else o[threadIdx.x] = 2 * down(&s, 3);
    }""")["k"]
    out = zeros(96)
    kernel[1, 96](out)
    assert (out == np.where(np.arange(96) % 2, 1, 2) * (96 + 192 + 288)).all()


def test_a_lock_behind_a_pointer_while_the_others_wait_for_its_owners(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    __device__ int lock, count;
    typedef int (*Step)(int);
    __device__ int take(int) {
        for (;;) if (atomicCAS(&lock, 0, 1) == 0) {
            int mine = ++*(volatile int *)&count; __threadfence(); atomicExch(&lock, 0); return mine; }
    }
    __device__ int look(int all) { while (*(volatile int *)&count < all); return -1; }
    __device__ Step steps[2] = {take, look};
    extern "C" __global__ void k(int *o) { o[threadIdx.x] = steps[threadIdx.x & 1](blockDim.x / 2); }""")["k"]
    out = zeros(64)
    kernel[1, 64](out)
    assert sorted(out[::2]) == list(range(1, 33))
    assert (out[1::2] == -1).all()


def test_local_arrays_and_arguments_of_groups_stay_their_own(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    struct Row { int a[5]; };
    typedef Row (*Mix)(Row, int);
    __device__ Row shift(Row r, int by) {
        int own[5];
        for (int i = 0; i < 5; ++i) own[i] = r.a[(i + by) % 5];
        __syncthreads();
        for (int i = 0; i < 5; ++i) r.a[i] = own[i] + 1;
        return r;
    }
    __device__ Row back(Row r, int by) {
        int own[5];
        __syncthreads();
        for (int i = 0; i < 5; ++i) own[(i + by) % 5] = 10 * r.a[i];
        for (int i = 0; i < 5; ++i) r.a[i] = own[i];
        return r;
    }
    __device__ Mix mixes[2] = {shift, back};
    extern "C" __global__ void k(int *o) {
        int t = threadIdx.x;
        Row r;
        for (int i = 0; i < 5; ++i) r.a[i] = t + i;
        for (int n = 0; n < 2; ++n) r = mixes[(t / 3 + n) & 1](r, t % 5);
        for (int i = 0; i < 5; ++i) o[5 * t + i] = r.a[i];
    }""")["k"]
    out = zeros(320)
    kernel[1, 64](out)
    for t in range(64):
        row = [t + i for i in range(5)]
        for n in range(2):
            by = t % 5
            if (t // 3 + n) & 1:
                row = [10 * row[(i - by) % 5] for i in range(5)]
            else:
                row = [row[(i + by) % 5] + 1 for i in range(5)]
        assert out[5 * t : 5 * t + 5].tolist() == row, t


def test_lanes_that_exit_inside_a_waiting_function_hold_nobody_up(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    typedef int (*Step)(int);
    __device__ int leave(int t) { if (t % 4 == 0) asm volatile("exit;"); __syncthreads(); return t; }
    __device__ int stay(int t) { __syncthreads(); return -t; }
    __device__ Step steps[2] = {leave, stay};
    extern "C" __global__ void k(int *o) {
        int t = threadIdx.x, v = steps[t & 1](t);
        __syncthreads();
        o[t] = v;
    }""")["k"]
    out = np.full(64, 7, np.int32)
    kernel[1, 64](out)
    t = np.arange(64)
    assert (out == np.where(t % 4 == 0, 7, np.where(t & 1, -t, t))).all()


def test_a_function_that_splits_again_below(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    __device__ __noinline__ int tree(int t, int bit) {
        if (bit == 32) { __syncthreads(); return 1; }
        if (t & bit) return 2 * tree(t, 2 * bit);
        return 3 * tree(t, 2 * bit) + 1;
    }
    extern "C" __global__ void k(int *o) { o[threadIdx.x] = tree(threadIdx.x, 1); }""")["k"]
    out = zeros(64)

    def tree(t: int, bit: int) -> int:
        if bit == 32:
            return 1
        below = tree(t, 2 * bit)
        return 2 * below if t & bit else 3 * below + 1

    for _ in range(2):
        kernel[1, 64](out)
        assert out.tolist() == [tree(t, 1) for t in range(64)]


STUCK = """
typedef void (*Step)();
__device__ void one() { asm volatile("barrier.sync 1, 64;"); }
__device__ void two() { asm volatile("barrier.sync 2, 64;"); }
__device__ Step steps[2] = {one, two};
extern "C" __global__ void k() { steps[threadIdx.x & 1](); }"""


def test_groups_that_wait_for_one_another_are_a_deadlock_found_at_once(gpu: gs.VirtualGPU) -> None:
    began = time.process_time()
    with pytest.raises(gs.KernelFault, match="no warp of the block can go on") as fault:
        gs.cuda(STUCK)["k"][1, 64]()
    assert fault.value.kind == "deadlock"
    assert time.process_time() - began < 10


def test_more_groups_than_there_are_stacks_is_a_finding(gpu: gs.VirtualGPU) -> None:
    functions = "".join(f"__device__ int f{i}(int t) {{ __syncthreads(); return t * {i}; }}\n" for i in range(16))
    source = f"""typedef int (*Step)(int);\n{functions}
    __device__ Step steps[16] = {{{", ".join(f"f{i}" for i in range(16))}}};
    extern "C" __global__ void k(int *o) {{ o[threadIdx.x] = steps[threadIdx.x & 15](threadIdx.x); }}"""
    kernel = gs.cuda(source)["k"]
    out = zeros(256)
    kernel[1, 256](out)
    assert (out == np.arange(256) * (np.arange(256) & 15)).all()
    with pytest.raises(gs.KernelFault, match="more than 248 groups of lanes") as stopped:
        kernel[1, 1024](zeros(1024))
    assert stopped.value.kind == "too_many_groups"


def test_runaway_recursion_with_a_barrier_is_a_stack_overflow(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    __device__ __noinline__ int down(volatile int *o, int n) {
        o[threadIdx.x] = n; __syncthreads(); return n == -1 ? 0 : down(o, n + 1) + o[threadIdx.x]; }
    extern "C" __global__ void k(int *o) { if (threadIdx.x & 1) o[threadIdx.x] = down(o, 0); else down(o, 1); }
    """)["k"]
    with pytest.raises(gs.KernelFault, match="deeper than the stack"):
        kernel[1, 32](zeros(32))
