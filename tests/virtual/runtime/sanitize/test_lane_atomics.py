"""Atomics and ordered accesses among the lanes of one warp: what each lane knows of the others by them."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.machine.schedule import IN_TURN, REVERSED

KERNEL = """
__device__ int data[32]; __device__ unsigned count; __device__ volatile int next_one;
extern "C" __global__ void k(int *out) {
    __shared__ int s[32], c, flags[32], lock;
    __shared__ volatile int turn, v[32];
    const int t = threadIdx.x;
    c = 0, flags[t] = 0, lock = 0, v[t] = 0;
    if (t == 0) count = 0, data[1] = 0, next_one = 0, turn = 0;
    __syncthreads();
    BODY
}"""
SUM = "int sum = 0; for (int i = 0; i < 32; ++i) sum += s[i]; *out = sum;"
PUT = "s[t] = t; __threadfence_block(); "

RIGHT = {
    "the last one by its old value": PUT + "if (atomicAdd(&c, 1) == 31) { __threadfence_block(); " + SUM + " }",
    "a poll by an atomic": PUT + "atomicAdd(&c, 1); if (t == 0) { while (atomicAdd(&c, 0) < 32) {} " + SUM + " }",
    "a poll of a volatile": PUT
    + "atomicAdd(&c, 1); if (t == 0) { while (*(volatile int *)&c < 32) {} __threadfence_block(); "
    + SUM + " }",
    "an acquire load": PUT
    + "cuda::atomic_ref<int, cuda::thread_scope_block> r(c); r.fetch_add(1, cuda::memory_order_release); "
    "if (t == 5) { while (r.load(cuda::memory_order_acquire) < 32) {} " + SUM + " }",
    "a release store to each": "cuda::atomic_ref<int, cuda::thread_scope_block> mine(flags[t]); s[t] = t; "
    "mine.store(1, cuda::memory_order_release); if (t == 0) { int sum = 0; for (int i = 0; i < 32; ++i) { "
    "cuda::atomic_ref<int, cuda::thread_scope_block> r(flags[i]); while (!r.load(cuda::memory_order_acquire)) {} "
    "sum += s[i]; } *out = sum; }",
    "a lock": "if (t == 0) s[0] = 0; __syncwarp(); for (bool done = false; !done;) if (atomicCAS(&lock, 0, 1) == 0) { "
    "__threadfence_block(); s[0] += t; __threadfence_block(); atomicExch(&lock, 0); done = true; } __syncwarp(); "
    "if (t == 0) *out = s[0];",
    "a chain": "for (bool done = false; !done;) if (t == 0 || atomicAdd(&flags[t - 1], 0)) { __threadfence_block(); "
    "s[t] = t + (t ? s[t - 1] : 0); __threadfence_block(); atomicExch(&flags[t], 1); done = true; } __syncwarp(); "
    "if (t == 31) *out = s[31];",
    "a sum behind a __syncwarp": "atomicAdd(&c, t); __syncwarp(); if (t == 0) *out = c;",
    "a sum that the last one reads": "atomicAdd(&c, t); if (atomicAdd(&lock, 1) == 31) *out = c;",
    "places by an atomic": "s[atomicAdd(&c, 1)] = t; __syncwarp(); if (t == 0) { " + SUM + " }",
    "a maximum that is read first": "if (t == 0) c = -1; __syncwarp(); if (c < t) atomicMax(&c, t); __syncwarp(); "
    "if (t == 0) *out = c + 465;",
    "a sum in global memory that the last one reads": "atomicAdd(&data[0], t); if (atomicAdd(&count, 1u) == 31) { "
    "*out = data[0] % 496 + 496; }",
    "the last old value in global memory": "if (atomicAdd(&count, 1u) == 31) *out = count + 464;",
    "the last one in global memory": "data[t] = t; __threadfence(); if (atomicAdd(&count, 1u) == 31) { "
    "__threadfence(); int sum = 0; for (int i = 0; i < 32; ++i) sum += data[i]; *out = sum; }",
    "a poll in global memory": "data[t] = t; __threadfence(); atomicAdd(&count, 1u); if (t == 3) { "
    "while (*(volatile unsigned *)&count < 32) {} __threadfence(); int sum = 0; "
    "for (int i = 0; i < 32; ++i) sum += data[i]; *out = sum; }",
    "turns by a volatile word": "while (turn != t) {} __threadfence_block(); c += t; __threadfence_block(); "
    "turn = t + 1; __syncwarp(); if (t == 0) *out = c;",
    "turns that are counted up": "while (turn != t) __nanosleep(20); __threadfence_block(); c += t; "
    "__threadfence_block(); turn = turn + 1; if (t == 31) *out = c;",
    "turns in a loop": "for (bool done = false; !done;) if (turn == t) { __threadfence_block(); c += t; "
    "__threadfence_block(); turn = t + 1; done = true; } __syncwarp(); if (t == 0) *out = c;",
    "volatile flags from lane to lane": "if (t) { while (!v[t - 1]) {} __threadfence_block(); } "
    "s[t] = t + (t ? s[t - 1] : 0); __threadfence_block(); v[t] = 1; if (t == 31) *out = s[31];",
    "turns over global memory": "while (next_one != t) {} __threadfence(); data[1] += t; __threadfence(); "
    "next_one = t + 1; __syncwarp(); if (t == 0) *out = data[1];",
    "turns in shared memory over data in global memory": "while (turn != t) {} __threadfence(); data[1] += t; "
    "__threadfence(); turn = t + 1; __syncwarp(); if (t == 0) *out = data[1];",
    "a maximum behind a __syncwarp": "atomicMax(&c, t); __syncwarp(); if (t == 0) *out = c + 465;",
    "a maximum in turns that is read first": "for (int i = 0; i < 32; ++i) { const int x = (t + i) % 32; "
    "if (c < x) atomicMax(&c, x); } __syncwarp(); if (t == 0) *out = c + 465;",
    "a maximum that the last one reads": "atomicMax(&c, t); if (atomicAdd(&lock, 1) == 31) *out = c + 465;",
    "a hint that saves the rest": "if (t == 3) atomicOr(&c, 1); if (c && t != 0) return; if (t == 0) *out = 496;",
    "a word that nobody else changes": "s[t] = 0; atomicMax(&s[t], t); s[t] = s[t] + 1; __syncwarp(); "
    "if (t == 0) *out = s[0] + 495;",
}  # fmt: skip

WRONG = {
    "a count that nobody waits for": PUT + "atomicAdd(&c, 1); __threadfence_block(); if (t == 0) { " + SUM + " }",
    "an old value that decides nothing": PUT + "flags[t] = atomicAdd(&c, 1); if (t == 0) { " + SUM + " }",
    "half of a count": PUT + "if (atomicAdd(&c, 1) == 15) { " + SUM + " }",
    "a sum read behind its own part": "atomicAdd(&c, t); if (t == 0) *out = c;",
    "a sum read by the last lane": "atomicAdd(&c, t); if (t == 31) *out = c;",
    "a zero that is not waited for": "if (t == 0) c = 0; atomicAdd(&c, t); __syncwarp(); if (t == 0) *out = c;",
    "exchanges read plainly": "atomicExch(&s[t], t); if (t == 0) { " + SUM + " }",
    "flags that nobody reads": "s[t] = t; atomicExch(&flags[t], 1); if (t == 0) { " + SUM + " }",
    "release stores that nobody reads": PUT + "cuda::atomic_ref<int, cuda::thread_scope_block> r(flags[t]); "
    "r.store(1, cuda::memory_order_release); if (t == 0) { " + SUM + " }",
    "a volatile read of what atomics do not guard": PUT + "if (t == 0) { while (*(volatile int *)&c) {} " + SUM + " }",
    "a count in global memory": "data[t] = t; __threadfence(); atomicAdd(&count, 1u); __threadfence(); if (t == 0) { "
    "int sum = 0; for (int i = 0; i < 32; ++i) sum += data[i]; *out = sum; }",
    "a sum in global memory read behind its own part": "atomicAdd(&count, unsigned(t)); if (t == 0) *out = count;",
    "a sum behind a zero in global memory": "if (t == 0) data[0] = 0; __syncwarp(); atomicAdd(&data[0], t); "
    "if (t == 0) *out = data[0];",
    "a sum in global memory read by the last lane": "atomicAdd(&count, unsigned(t)); if (t == 31) *out = count;",
    "a zero in global memory that is not waited for": "if (t == 0) data[0] = 1; atomicAdd(&data[0], t); __syncwarp(); "
    "if (t == 0) *out = data[0];",
    "turns without fences": "while (turn != t) {} c += t; turn = t + 1; __syncwarp(); if (t == 0) *out = c;",
    "a fence behind the turn": "while (turn != t) {} c += t; turn = t + 1; __threadfence_block(); __syncwarp(); "
    "if (t == 0) *out = c;",
    "turns over global memory without fences": "while (next_one != t) {} data[1] += t; next_one = t + 1; __syncwarp(); "
    "if (t == 0) *out = data[1];",
    "volatile sums in step": "v[t] = t; for (int i = 16; i; i /= 2) if (t < i) v[t] = v[t] + v[t + i]; "
    "if (t == 0) *out = v[0];",
    "volatile sums in step with fences": "v[t] = t; __threadfence_block(); for (int i = 16; i; i /= 2) { if (t < i) "
    "v[t] = v[t] + v[t + i]; __threadfence_block(); } if (t == 0) *out = v[0];",
    "volatile sums in step behind a flag": "if (t == 0) { __threadfence_block(); turn = 1; } while (!turn) {} "
    "v[t] = t; __threadfence_block(); for (int i = 16; i; i /= 2) { if (t < i) v[t] = v[t] + v[t + i]; "
    "__threadfence_block(); } if (t == 0) *out = v[0];",
    "a maximum behind its own": "atomicMax(&c, t); if (t == 0) *out = c;",
    "a maximum by the last lane": "atomicMax(&c, t); __threadfence_block(); if (t == 31) *out = c;",
    "a maximum that was read first": "for (int i = 0; i < 4; ++i) if (c < t + i) atomicMax(&c, t + i); s[t] = 2 * c; "
    "__syncwarp(); if (t == 0) *out = s[3];",
    "a mask": "atomicOr(&c, 1 << t); if (t == 0) *out = __popc(c);",
}  # fmt: skip


def found(body: str) -> set[str]:
    """Kinds of findings in both orders of lanes."""
    header = "#include <cuda/atomic>\n" if "cuda::" in body else ""
    kernel, kinds = gs.cuda(header + KERNEL.replace("BODY", body))["k"], set()
    with gs.use(gs.VirtualGPU("h200", time_limit=20)) as gpu:
        for order in (IN_TURN, REVERSED):
            with gpu.scheduled(order):
                out = gs.to_device(np.zeros(1, np.int32))
                kinds |= {finding.kind for finding in kernel.observe(1, 32)(out).findings}
                if body in RIGHT.values():
                    assert out.numpy()[0] == 496
    return kinds


@pytest.mark.parametrize("name", RIGHT)
def test_who_knows_of_an_access_may_follow_it(name: str) -> None:
    assert found(RIGHT[name]) == set()


@pytest.mark.parametrize("name", WRONG)
def test_an_atomic_brings_no_lanes_together(name: str) -> None:
    assert found(WRONG[name]) == {"race"}
