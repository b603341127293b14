"""Shared memory behind generic pointers, which may be global memory as well: held against the same shadows."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

KERNEL = """
#include <cuda_pipeline.h>
__device__ __noinline__ float either(const float* p, const float* q, int i) { return (i % 2 ? p : q)[i]; }
extern "C" __global__ void k(float* out, const float* in, int n) {
    __shared__ alignas(16) float s[256];
    const int t = threadIdx.x;
    float* g = n > 0 ? s : out + 1024;
    float* mixed = t % 2 ? s : out + 1024;
    float v = 0;
    BODY
    __syncthreads();
    out[t] = v;
}"""
ZERO = "s[t] = 0; s[t + 64] = 0; s[t + 128] = 0; __syncthreads(); "
SYNC = "__syncthreads(); "
AMONG_WARPS = {
    "a load": "s[t] = in[t]; SYNC v = g[63 - t];",
    "a store": "g[t] = in[t]; SYNC v = s[63 - t];",
    "both": "g[t] = in[t]; SYNC v = g[63 - t];",
    "a store after a load": "v = g[63 - t]; SYNC g[t] = in[t];",
    "two stores": "s[t] = t; SYNC g[63 - t] = 7 * t + 1; __syncthreads(); v = s[t];",
    "some lanes": "mixed[t] = in[t]; SYNC v = s[(t + 32) % 64];",
    "a vector load": "s[t] = in[t]; SYNC float4 q = *(float4*)(g + (t + 32) % 64 / 4 * 4); v = q.x + q.w;",
    "a vector store": "if (t < 16) *(float4*)(g + 4 * t) = make_float4(t, 1, 2, 3); SYNC v = s[63 - t];",
    "bytes": "((char*)g)[t] = in[t]; SYNC v = ((char*)g)[63 - t];",
    "an atomic": "atomicAdd(g, 1 + t); SYNC v = s[0];",
    "an atomic of integers": "s[t] = 0; SYNC atomicAdd((int*)g + (t + 32) % 64, 1 + t);",
    "a compare-and-swap": "s[t] = 0; SYNC atomicCAS((int*)g + (t + 32) % 64, 5, 1 + t);",
    "a load beside an atomic": "v = g[0]; SYNC atomicAdd(s, 1 + t);",
    "a function": "g[t] = in[t]; SYNC v = either(g, in, 63 - t);",
}
AMONG_LANES = {
    "a load": "s[t] = in[t]; SYNC v = g[t ^ 1];",
    "a store after a load": "v = g[t ^ 1]; SYNC g[t] = in[t];",
    "some lanes": "mixed[t] = in[t]; SYNC v = s[t ^ 3];",
    "volatile": "volatile float* w = g; w[t] = in[t]; SYNC v = w[t ^ 1];",
    "a vector load": "s[t] = in[t]; SYNC float4 q = *(float4*)(g + t / 4 * 4); v = q.x + q.w;",
    "an atomic": "atomicAdd(g + t, 1 + t); SYNC v = g[t ^ 1];",
    "an atomic of integers": "s[t] = 0; SYNC atomicAdd((int*)g + (t ^ 1), 1 + t);",
    "an exchange": "s[t] = 0; SYNC v = atomicExch((int*)g + (t ^ 1), t);",
    "a maximum": "s[t] = 0; SYNC atomicMax((int*)g + (t ^ 1), t);",
}


def found(body: str, *, threads: int = 64) -> set[str]:
    kernel = gs.cuda(KERNEL.replace("BODY", body))["k"]
    arrays = gs.to_device(np.zeros(2048, np.float32)), gs.to_device(np.ones(256, np.float32))
    return {finding.kind for finding in kernel.observe(1, threads)(*arrays, 1).findings}


@pytest.mark.parametrize("name", AMONG_WARPS)
def test_warps_race_through_a_generic_pointer(name: str) -> None:
    assert found(ZERO + AMONG_WARPS[name].replace("SYNC", "")) == {"race"}
    assert found(ZERO + AMONG_WARPS[name].replace("SYNC", SYNC)) == set()


@pytest.mark.parametrize("name", AMONG_LANES)
def test_lanes_race_through_a_generic_pointer(name: str) -> None:
    assert found(ZERO + AMONG_LANES[name].replace("SYNC", ""), threads=32) == {"race"}
    assert found(ZERO + AMONG_LANES[name].replace("SYNC", "__syncwarp(); "), threads=32) == set()


def test_lanes_that_store_different_values_at_one_place_race() -> None:
    assert found(ZERO + "g[t / 2] = t; __syncthreads(); v = g[t];", threads=32) == {"race"}
    assert found(ZERO + "g[t / 2] = t / 2; __syncthreads(); v = g[t];", threads=32) == set()


RIGHT = {
    "two warps store the same": "g[0] = 5; g[t % 8] = 5; __syncthreads(); v = g[0];",
    "the same four": "*(float4*)(g + t % 8 * 4) = make_float4(1, 2, 3, t % 8); __syncthreads(); v = g[0];",
    "bytes side by side": "((char*)g)[t] = in[t]; v = ((char*)g)[t];",
    "atomics": "atomicAdd(g + t % 4, 1.f); atomicMax((int*)g + 8, t); __syncthreads(); v = g[t];",
    "a count behind fences": "unsigned* c = (unsigned*)(g + 128); g[t] = in[t]; __threadfence_block();"
    " if (atomicAdd(c, 1u) == 63) { __threadfence_block(); for (int i = 0; i < 64; ++i) v += g[i]; }",
    "a flag": "volatile float* w = g + 100; if (t == 0) { g[0] = 5; __threadfence_block(); *w = 1; }"
    " if (t == 32) { while (*w == 0) {} __threadfence_block(); v = g[0]; }",
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_orders_shared_memory_does_so_through_a_generic_pointer(name: str) -> None:
    assert found(ZERO + RIGHT[name]) == set()


def test_a_value_that_nothing_has_written_is_followed_through_a_generic_store() -> None:
    tile = "if (t < 16) s[t] = 1; __syncthreads(); float x = g[t]; g[t + 128] = x; __syncthreads(); "
    assert found(tile + "if (t < 16) v = s[t + 128];") == set()
    assert found(tile + "v = s[t + 128];") == {"uninitialised_read"}


COPY = "__pipeline_memcpy_async(s + t, in + t, 4); __pipeline_commit(); "


def test_a_copy_is_waited_for_through_a_generic_pointer() -> None:
    assert found(COPY + "v = g[t]; __pipeline_wait_prior(0);") == {"unwaited_copy"}
    assert found(COPY + "__pipeline_wait_prior(0); v = g[t];") == set()


def test_a_copy_overwrites_what_others_still_read_through_a_generic_pointer() -> None:
    refill = ZERO + "v = g[63 - t]; SYNC" + COPY + "__pipeline_wait_prior(0); "
    assert found(refill.replace("SYNC", "")) == {"race"}
    assert found(refill.replace("SYNC", SYNC)) == set()
