"""Loops whose head is a barrier or a shuffle, and whose rounds end at several places: lanes meet before the next one.

Each body below adds `cost[i]` ones to `y[i]` for the elements of one tile, and leaves its round in its own way.
"""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.lowering.analysis.latches import with_latches
from gridstride.virtual.ptx.flow import cfg
from gridstride.virtual.ptx.parsing.parser import parse

QUEUE = """
__device__ void add(int* y, int i, int k) { y[i] += k; }
__device__ __noinline__ int bounded(int k) { while (k > 1000) k /= 2; return k; }
extern "C" __global__ void k(int* y, const int* cost, int* next, int n) {
    __shared__ int tile;
    const int t = threadIdx.x, tiles = (n + blockDim.x - 1) / blockDim.x;
    while (true) {
        __syncthreads();
        if (t == 0) tile = atomicAdd(next, 1);
        __syncthreads();
        if (tile >= tiles) break;
        const int i = tile * blockDim.x + t;
        BODY
    }
}"""

BODIES = {
    "one continue": "if (i >= n) continue; for (int j = 0; j < cost[i]; j++) add(y, i, 1);",
    "an inner loop at the end": "for (int j = 0; i < n && j < cost[i]; j++) add(y, i, 1);",
    "continue from nested ifs": """if (i < n) {
            const int c = cost[i];
            if (c & 1) { y[i] += c; if (c & 2) continue; }
            else if (c & 2) { for (int j = 0; j < c; j++) add(y, i, 1); continue; }
            else { if (c & 4) { y[i] += c; continue; } y[i] += c; }
        }""",
    "two inner loops": """if (i >= n) continue;
        const int c = cost[i];
        for (int j = 0; j < c / 2; j++) add(y, i, 1);
        if (c % 3 == 0) { y[i] += c - c / 2; continue; }
        for (int j = c / 2; j < c; j++) add(y, i, 1);""",
    "nested inner loops": """if (i >= n) continue;
        int left = cost[i];
        while (left > 0) {
            for (int j = 0; j < 7 && left > 0; j++, left--) add(y, i, 1);
            if (left == 5) { add(y, i, 5); break; }
        }""",
    "continue in an inner loop": """int c = i < n ? cost[i] : 0;
        while (c > 0) { c--; if (c % 3) { add(y, i, 1); continue; } if (c % 2) { y[i]++; continue; } y[i] += 1; }""",
    "do while": "if (i >= n) continue; int c = cost[i]; if (c == 0) continue; do { add(y, i, 1); } while (--c);",
    "switch": """if (i >= n) continue;
        const int c = cost[i];
        switch (c & 7) {
            case 0: y[i] += c; continue;
            case 1: for (int j = 0; j < c; j++) add(y, i, 1); continue;
            case 2: y[i] += c; break;
            case 3: case 4: y[i] += 1; y[i] += c - 1; continue;
            case 5: if (c > 20) { y[i] += c; continue; } y[i] += c; break;
            default: for (int j = c; j > 0; j--) add(y, i, 1);
        }""",
    "break of the inner loop": """if (i >= n) continue;
        for (int j = 0;; j++) {
            if (j == cost[i]) break;
            if (j == 11) { y[i] += cost[i] - 11; break; }
            add(y, i, 1);
        }""",
    "goto": """if (i >= n) goto next;
        { int c = cost[i];
        again: if (c == 0) goto next;
        c--; y[i]++;
        if (c % 5 == 0) goto again;
        if (c > 2) { c -= 2; y[i] += 2; goto again; }
        while (c-- > 0) y[i]++; }
        next:;""",
    "calls in loops": """if (i >= n) continue;
        for (int j = bounded(cost[i]); j > 0; j--) add(y, i, bounded(1));""",
    "more than 64 rounds of atomics": """if (i >= n) continue;
        for (int j = 0; j < 2 * cost[i]; j++) { atomicAdd(&y[i], 1); if (j % 2) atomicSub(&y[i], 1); }""",
    "a loop that tries": """if (i >= n) continue;
        int left = cost[i];
        while (left > 0) { const int was = y[i]; if (atomicCAS(&y[i], was, was + 1) == was) left--; }""",
    "a shuffle after it": """int c = i < n ? cost[i] : 0;
        int most = c;
        for (int by = 16; by; by /= 2) most = max(most, __shfl_xor_sync(~0u, most, by));
        for (int j = 0; j < most; j++) { if (j >= c) continue; add(y, i, 1); }""",
}


@pytest.mark.parametrize(("n", "threads"), [(1000, 96), (4099, 64)])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_work_queue_runs_in_both_builds(body: str, n: int, threads: int) -> None:
    cost = np.random.default_rng(n).integers(0, 90, n).astype(np.int32)
    for sanitize in (False, True):
        y = np.zeros(n, np.int32)
        with gs.use(gs.VirtualGPU(sanitize=sanitize, time_limit=20)):
            kernel = gs.cuda(QUEUE.replace("BODY", body))["k"]
            kernel[3, threads](y, cost, np.zeros(1, np.int32), n)
        np.testing.assert_array_equal(y, cost)


SUMS = """
__device__ __noinline__ int meet(int x) { __syncthreads(); return x + 1; }
extern "C" __global__ void k(int* y, const int* cost) {
    __shared__ int shared[2];
    const int t = threadIdx.x;
    int round = 0, sum = 0;
    BODY
    y[t] = sum + round;
}"""

HEADS = {
    "a step of the loop after continue": """for (; round < 5; round++) {
            __syncthreads();
            if (cost[t] & 1) { sum += 2; continue; }
            for (int j = 0; j < cost[t]; j++) sum += j & 1;
            if (cost[t] & 2) continue;
            sum++;
        }""",
    "the barrier in a function": """while (round < 5) {
            round = meet(round);
            if (cost[t] & 1) continue;
            for (int j = 0; j < cost[t]; j++) sum += j & 3;
        }""",
    "an atomic before the barrier": """while (round < 5) {
            if (t == 0) shared[round & 1] = atomicAdd(&y[0], 0) * 0 + round;
            __syncthreads();
            sum += shared[round++ & 1];
            for (int j = 0; j < cost[t]; j++) if (atomicAdd(&y[t], 0) != 0) sum++;
        }""",
    "two loops around the barrier": """while (round < 6) {
            for (int inner = 0; inner < 3; inner++) {
                __syncthreads();
                if (cost[t] & 1) continue;
                int left = cost[t] % 9;
                while (left--) { if (left == 4) break; sum++; }
            }
            round += 2;
            if (cost[t] & 2) continue;
            sum += round;
        }""",
    "lanes that returned before": """if (t % 5 == 4) { y[t] = 7; return; }
        while (round < 5) {
            __syncthreads();
            round++;
            if (cost[t] & 1) continue;
            for (int j = 0; j < cost[t]; j++) sum += j & 3;
        }""",
    "a shuffle at the head": """while (round < 5) {
            sum += __shfl_xor_sync(~0u, round, 1);
            round++;
            if (cost[t] & 1) continue;
            for (int j = 0; j < cost[t]; j++) sum += j & 3;
        }""",
    "a warp's barrier at the head": """while (round < 5) {
            __syncwarp();
            round++;
            if (cost[t] & 1) { sum += 3; continue; }
            for (int j = 0; j < cost[t]; j++) sum += j & 3;
        }""",
}


def alone(t: int, cost: int, name: str) -> int:
    """What one thread adds up, by the kernels above."""
    odd, two = cost & 1, cost & 2
    threes = sum(j & 3 for j in range(cost))
    match name:
        case "a step of the loop after continue":
            each = 2 if odd else cost // 2 + (0 if two else 1)
            return 5 * each + 5
        case "the barrier in a function":
            return 5 + (0 if odd else 5 * threes)
        case "an atomic before the barrier":
            return 5 + sum(range(5))
        case "two loops around the barrier":
            left = cost % 9
            inner = 0 if odd else left if left <= 4 else left - 5
            return 9 * inner + 6 + (0 if two else 2 + 4 + 6)
        case "lanes that returned before":
            return 7 if t % 5 == 4 else 5 + (0 if odd else 5 * threes)
        case "a shuffle at the head":
            return 5 + sum(range(5)) + (0 if odd else 5 * threes)
        case _:
            return 5 + (15 if odd else 5 * threes)


@pytest.mark.parametrize("name", HEADS)
def test_lanes_meet_before_the_next_round(name: str) -> None:
    cost = np.random.default_rng(5).integers(0, 90, 96).astype(np.int32)
    for sanitize in (False, True):
        y = np.zeros(96, np.int32)
        with gs.use(gs.VirtualGPU(sanitize=sanitize, time_limit=20)):
            gs.cuda(SUMS.replace("BODY", HEADS[name]))["k"][1, 96](y, cost)
        assert y.tolist() == [alone(t, int(c), name) for t, c in enumerate(cost)]


PAST = {
    "some skip it": "if (cost[t] & 1) __syncthreads();",
    "some skip it by continue": "if (cost[t] & 1) continue; __syncthreads();",
    "some leave the loop first": "if (cost[t] & 1 && round == 3) break; __syncthreads();",
}


@pytest.mark.parametrize("way", PAST.values(), ids=PAST)
def test_lanes_that_go_past_a_barrier_in_such_a_loop_are_found(way: str) -> None:
    body = f"""while (round < 5) {{
        round++;
        {way}
        for (int j = 0; j < cost[t]; j++) {{ if (atomicAdd(&y[t], 0) == 1) continue; sum += j & 3; }}
    }}"""
    cost, y = np.arange(96, dtype=np.int32), np.zeros(96, np.int32)
    with gs.use(gs.VirtualGPU(time_limit=5)):
        run = gs.cuda(SUMS.replace("BODY", body))["k"].observe(1, 96)(y, cost)
    assert "barrier_divergence" in {found.kind for found in run.findings}


TABLE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 y, .param .u64 cost)
{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [cost];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;
    ld.global.u32 %r2, [%rd2];
    mov.u32 %r3, 0; mov.u32 %r4, 0;
    bra HEAD;
MORE:
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, 300;
HEAD:
    bar.sync 0;
    add.u32 %r3, %r3, 1;
    setp.ge.u32 %p2, %r3, 5;
    @%p2 bra END;
    and.b32 %r5, %r2, 3;
    ts: .branchtargets HEAD, MORE, LONG, END;
    setp.eq.u32 %p3, %r5, 3;
    @%p3 bra HEAD;
    brx.idx %r5, ts;
LONG:
    add.u32 %r4, %r4, 1;
    rem.u32 %r6, %r4, 7;
    setp.ne.u32 %p1, %r6, 0;
    @%p1 bra LONG;
    bra HEAD;
END:
    st.global.u32 [%rd1], %r4;
    ret;
}"""


def test_ways_back_by_an_indexed_branch_and_by_falling_through() -> None:
    cost = (np.arange(64) % 4).astype(np.int32)
    for sanitize in (False, True):
        y = np.zeros(64, np.int32)
        with gs.use(gs.VirtualGPU(sanitize=sanitize, time_limit=20)):
            gs.ptx(TABLE)["k"][1, 64](y, cost)
        assert y.tolist() == [[0, 4, 28, 0][c] for c in cost]


def test_a_loop_that_ends_in_one_block_stays_as_it_is() -> None:
    text = TABLE[: TABLE.index("HEAD:")] + "HEAD: add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 9; @%p1 bra HEAD; ret; }"
    function = parse(text.replace("bra HEAD;\nMORE:", "MORE:", 1)).functions["k"]
    assert with_latches(function, cfg.build(function)) is function


def test_ways_back_meet_in_one_block_at_the_end_of_the_loop() -> None:
    function = parse(TABLE).functions["k"]
    latched = with_latches(function, cfg.build(function))
    graph = cfg.build(latched)
    outer = graph.loops[0]
    (latch,) = (source for source, _ in outer.back_edges)
    assert graph.position[latch] == max(graph.position[member] for member in outer.members)
    assert latched.branch_targets["ts"] == ("HEAD", "MORE", "LONG", "END")
