"""Threads that wait for each other: locks, flags, look-back, grid barriers, named barriers, reductions at barriers."""

from __future__ import annotations

import numpy as np
import pytest
from host_arrays import zeros

import gridstride as gs

CRITICAL = "volatile int *v = c; *v = *v + 1; __threadfence();"
LOCKS = {
    "spin": f"while (atomicCAS(l, 0, 1) != 0); {CRITICAL} atomicExch(l, 0);",
    "until done": f"bool done = false; while (!done) if (atomicCAS(l, 0, 1) == 0) "
    f"{{ {CRITICAL} atomicExch(l, 0); done = true; }}",
    "ticket": f"int t = atomicAdd(l, 1); while (*(volatile int *)(l + 1) != t); {CRITICAL} atomicAdd(l + 1, 1);",
    "in a function": f"while (!take(l)); {CRITICAL} give(l);",
    "all in a function": f"lock(l); {CRITICAL} give(l);",
    "function in a function": f"enter(&l, threadIdx.x & 1); {CRITICAL} give(l);",
    "with back-off": f"int ns = 8; while (atomicCAS(l, 0, 1)) {{ __nanosleep(ns); if (ns < 256) ns *= 2; }} "
    f"{CRITICAL} atomicExch(l, 0);",
    "by acquire": "int old; do { asm volatile(\"atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;\" : \"=r\"(old) : "
    "\"l\"(l) : \"memory\"); } while (old); c[0] += 1; asm volatile(\"st.release.gpu.global.u32 [%0], 0;\" :: "
    "\"l\"(l) : \"memory\");",
}  # fmt: skip


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("shape", [(1, 32), (1, 96), (6, 33)], ids=str)
def test_every_thread_takes_the_lock_once(gpu: gs.VirtualGPU, lock: str, shape: tuple[int, int]) -> None:
    kernel = gs.cuda(
        "__device__ __noinline__ bool take(int *l) { return atomicCAS(l, 0, 1) == 0; }"
        "__device__ __noinline__ void give(int *l) { atomicExch(l, 0); }"
        "__device__ __noinline__ void lock(int *l) { int n[2] = {0, 0}; while (atomicCAS(l, 0, 1)) ++n[*l & 1]; }"
        "__device__ __noinline__ void enter(int **l, bool odd) { if (odd) { lock(*l); return; } lock(*l); }"
        f'extern "C" __global__ void k(int *l, int *c) {{ {LOCKS[lock]} }}'
    )["k"]
    held, count = zeros(2), zeros(1)
    kernel[shape](held, count)
    assert count[0] == shape[0] * shape[1]


def test_one_thread_of_each_block_takes_a_lock_and_the_block_works_under_it(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(int *l, int *c) {
        if (threadIdx.x == 0) while (atomicCAS(l, 0, 1) != 0) __nanosleep(20);
        __syncthreads();
        volatile int *v = c + threadIdx.x;
        *v = *v + 1;
        __syncthreads();
        if (threadIdx.x == 0) { __threadfence(); atomicExch(l, 0); }
    }""")["k"]
    held, count = zeros(1), zeros(64)
    kernel[50, 64](held, count)
    assert (count == 50).all()


def test_lanes_that_spin_do_not_starve_a_third_group(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(volatile int *f, int *o) {
        int group = threadIdx.x % 3;
        if (group == 0) { while (f[0] == 0); }
        else if (group == 1) { while (f[1] == 0); __threadfence(); f[0] = 1; }
        else { for (volatile int i = 0; i < 300; i = i + 1); f[1] = 1; while (f[0] == 0); }
        o[threadIdx.x] = group;
    }""")["k"]
    out = zeros(32)
    kernel[1, 32](zeros(2), out)
    assert (out == np.arange(32) % 3).all()


def test_lanes_wait_for_lanes_that_come_later_in_the_text(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(volatile int *f, int *o) {
        if (threadIdx.x < 16) { while (f[0] != 16); o[threadIdx.x] = f[0]; }
        else atomicAdd((int *)f, 1);
    }""")["k"]
    out = zeros(16)
    kernel[1, 32](zeros(1), out)
    assert (out == 16).all()


@pytest.mark.parametrize("wait", ["__threadfence()", 'asm volatile("" ::: "memory")', "__nanosleep(10)"])
@pytest.mark.parametrize("other", ["blockIdx.x", "threadIdx.x % 32", "threadIdx.x / 32"], ids=["block", "lane", "warp"])
def test_waiting_by_plain_reads(gpu: gs.VirtualGPU, wait: str, other: str) -> None:
    kernel = gs.cuda(f"""extern "C" __global__ void k(int *x, int *o) {{
        if ({other} == 0) {{
            while (x[0] == 0) {wait};
            o[blockIdx.x * blockDim.x + threadIdx.x] = 1;
        }} else if ({other} == 1) {{ x[0] = 1; }}
    }}""")["k"]
    out = zeros(3 * 96)
    kernel[3, 96](zeros(1), out)
    i = np.arange(3 * 96)
    at = {"blockIdx.x": i // 96, "threadIdx.x % 32": i % 32, "threadIdx.x / 32": i % 96 // 32}[other]
    assert (out == (at == 0)).all()


def test_decoupled_look_back(gpu: gs.VirtualGPU) -> None:
    """A single-pass scan: each block adds what the blocks before it publish, a total or the whole prefix."""
    kernel = gs.cuda("""
    struct Tile { volatile int flag, total, prefix, spare; };
    extern "C" __global__ void scan(const int *x, int *y, Tile *tiles, int *next, int n) {
        __shared__ int part[128], tile, before;
        if (threadIdx.x == 0) tile = atomicAdd(next, 1);
        __syncthreads();
        int i = tile * 128 + threadIdx.x, t = threadIdx.x;
        part[t] = i < n ? x[i] : 0;
        for (int d = 1; d < 128; d *= 2) {
            __syncthreads();
            int left = t >= d ? part[t - d] : 0;
            __syncthreads();
            part[t] += left;
        }
        __syncthreads();
        if (t == 0) {
            int total = part[127], sum = 0;
            tiles[tile].total = total;
            __threadfence();
            if (tile > 0) tiles[tile].flag = 1;
            for (int p = tile - 1; p >= 0; --p) {
                int flag;
                while ((flag = tiles[p].flag) == 0);
                __threadfence();
                if (flag == 2) { sum += tiles[p].prefix; break; }
                sum += tiles[p].total;
            }
            tiles[tile].prefix = sum + total;
            __threadfence();
            tiles[tile].flag = 2;
            before = sum;
        }
        __syncthreads();
        if (i < n) y[i] = before + part[t];
    }""")["scan"]
    n = 300 * 128 - 17
    x = np.random.default_rng(1).integers(-9, 99, n).astype(np.int32)
    y = np.empty_like(x)
    kernel[300, 128](x, y, np.zeros((300, 4), np.int32), zeros(1), n)
    assert (y == np.cumsum(x)).all()


def test_a_cooperative_grid_meets_at_a_barrier_of_its_own(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    __device__ void meet(int *count, int target) {
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) { atomicAdd(count, 1); while (*(volatile int *)count < target); }
        __syncthreads();
    }
    extern "C" __global__ void k(int *count, int *a, int *b) {
        int n = gridDim.x * 64, i = blockIdx.x * 64 + threadIdx.x;
        for (int round = 1; round <= 4; ++round) {
            b[i] = ((volatile int *)a)[(i + 65) % n] + round;
            meet(count, (2 * round - 1) * gridDim.x);
            a[i] = ((volatile int *)b)[(i + 1) % n];
            meet(count, 2 * round * gridDim.x);
        }
    }""")["k"]
    n = 40 * 64
    a = np.arange(n, dtype=np.int32)
    want = a.copy()
    for step in range(1, 5):
        want = np.roll(np.roll(want, -65) + step, -1)
    kernel.launch(grid=40, block=64, args=(zeros(1), a, zeros(n)), cooperative=True)
    assert (a == want).all()


def test_a_cooperative_grid_that_does_not_fit_is_refused(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda('extern "C" __global__ void k(int *o) { o[0] = 1; }')["k"]
    with pytest.raises(gs.LaunchError, match="100000 blocks does not fit"):
        kernel.launch(grid=100_000, block=64, args=(zeros(1),), cooperative=True)


def test_producer_and_consumer_warps_by_flags_in_shared_memory(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(const int *x, int *y, int rounds) {
        __shared__ volatile int slot[2][32], full[2];
        int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        if (threadIdx.x < 2) full[threadIdx.x] = 0;
        __syncthreads();
        for (int r = 0; r < rounds; ++r) {
            int s = r & 1;
            if (warp == 0) {
                while (full[s]);
                slot[s][lane] = x[r * 32 + lane];
                __threadfence_block();
                __syncwarp();
                if (lane == 0) full[s] = 1;
            } else {
                while (!full[s]);
                y[r * 32 + lane] = 2 * slot[s][31 - lane];
                __syncwarp();
                if (lane == 0) full[s] = 0;
                __syncwarp();
            }
        }
    }""")["k"]
    x = np.arange(320, dtype=np.int32)
    y = zeros(320)
    kernel[3, 64](x, y, 10)
    assert (y.reshape(10, 32) == 2 * x.reshape(10, 32)[:, ::-1]).all()


def test_rounds_until_no_thread_of_the_block_has_work_left(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(const int *work, int *o) {
        __shared__ int left[100];
        int t = threadIdx.x, rounds = 0;
        left[t] = work[t];
        do {
            __syncthreads();
            int v = left[(t + 1) % 100];
            __syncthreads();
            if (left[t] > 0) --left[t];
            if (v % 3 == 2) continue;
            rounds += 10;
        } while (__syncthreads_or(left[t] > 0) && ++rounds);
        o[t] = rounds;
    }""")["k"]
    work, out = np.arange(100, dtype=np.int32) * 7 % 23, zeros(100)
    kernel[2, 100](work, out)
    left, rounds = work.copy(), np.zeros(100, int)
    while True:
        v = np.roll(left, -1)
        left = np.maximum(left - 1, 0)
        rounds += np.where(v % 3 == 2, 0, 10)
        if not left.any():
            break
        rounds += 1
    assert (out == rounds).all()


@pytest.mark.parametrize("sanitize", [False, True])
@pytest.mark.parametrize("meeting", ["", "__syncwarp();", "if (__all_sync(~0u, n)) v += 0;"])
def test_lanes_that_poll_are_waited_for_where_the_whole_warp_is_named(sanitize: bool, meeting: str) -> None:
    """Four lanes have nothing to wait for; what they do next names the others, who still spin."""
    with gs.use(gs.VirtualGPU(workers=1, memory=64 << 20, sanitize=sanitize)):
        kernel = gs.cuda(f"""
        __device__ unsigned flags[32];
        extern "C" __global__ void k(int *y, int n) {{
            const int lane = threadIdx.x;
            if (blockIdx.x > 0) {{
                for (int i = 0; i < 20000; i++) asm volatile("");
                atomicExch(&flags[lane], 1u);
                return;
            }}
            int v = 0;
            if (lane > 3) {{
                while (*(volatile unsigned *)&flags[lane] != 1);
                v = lane;
            }}
            {meeting}
            for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
            y[lane] = v;
        }}""")["k"]
        y = zeros(32)
        assert kernel.observe(2, 32)(y, 1).findings == ()
        assert (y == sum(range(4, 32))).all()
        kernel[2, 32](again := zeros(32), 1)
        assert (again == sum(range(4, 32))).all()


COUNTED = """
extern "C" __global__ void k(int* out, const int* in, int n)
{
    __shared__ int sum;
    const int t = threadIdx.x;
    if (t == 0) sum = 0;
    __syncthreads();
    for (int i = t; i < 72; i += 64) {  // the second round is of eight lanes; the others wait at the barrier behind it
        const unsigned odd = __ballot_sync(MEMBERS, in[i] & 1);
        if (t % 32 == 0) atomicAdd(&sum, __popc(odd));
    }
    __syncthreads();
    if (t < n) out[t] = sum;
}
"""


@pytest.mark.parametrize(("members", "kinds"), [("0xffffffff", ["member_mask"]), ("__activemask()", [])])
def test_a_loop_that_only_adds_to_memory_waits_for_nobody(members: str, kinds: list[str]) -> None:
    """So a lane that left it is missed by a vote within, whatever the loop does to memory besides."""
    with gs.use(gs.VirtualGPU(workers=1)):
        kernel = gs.cuda(COUNTED, options=(f"-DMEMBERS={members}",))["k"]
        out, data = gs.to_device(np.zeros(64, np.int32)), gs.to_device(np.arange(72, dtype=np.int32))
        assert [each.kind for each in kernel.observe(1, 64)(out, data, 64).findings] == kinds
