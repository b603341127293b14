"""Races in shared memory between the lanes of one warp: which readers are remembered, and what orders memory."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

KERNEL = """extern "C" __global__ void k(float* o) {
    __shared__ float s[64];
    const int t = threadIdx.x;
    POINTER v = s;
    s[t] = s[t + 32] = t;
    __syncthreads();
    READS
    v[t] = m + q;
    __syncwarp();
    o[t] = s[t];
}"""
ORDERS = {
    "its own last": "float q = v[t + 16], m = v[t];",
    "its own first": "float m = v[t], q = v[t + 16];",
    "with a barrier of all lanes": "float q = v[t + 16], m = v[t]; __syncwarp();",
}


def run(pointer: str, reads: str) -> None:
    with gs.use(gs.VirtualGPU(sanitize=True)):
        kernel = gs.cuda(KERNEL.replace("POINTER", pointer).replace("READS", reads))["k"]
        kernel[1, 32](np.zeros(32, np.float32))


@pytest.mark.parametrize("pointer", ["float*", "volatile float*"])
@pytest.mark.parametrize("order", ORDERS)
def test_a_place_that_its_writer_read_too_was_read_by_another_lane(pointer: str, order: str) -> None:
    """Whoever read it last; volatile accesses order the warp with others, and its lanes not at all."""
    if "barrier" in order:
        run(pointer, ORDERS[order])
        return
    with pytest.raises(gs.KernelFault, match="of the same warp read"):
        run(pointer, ORDERS[order])


HEAD = """#include <mma.h>
using namespace nvcuda;
__device__ unsigned place(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy(void* to, const void* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(place(to)), "l"(from) : "memory");
}
__device__ void wait() { asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory"); }
extern "C" __global__ void k(float* o, const float* x) {
    __shared__ __align__(32) float s[256];
    __shared__ unsigned long long bar;
    const int t = threadIdx.x;
"""
LOADED = "wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a; "
LOADED += "wmma::load_matrix_sync(a, (const __half*)s, 16);\no[t] = a.x[0];"
LDMATRIX = 'int r; asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) '
LDMATRIX += ': "r"(place(s + t % 8 * 4)) : "memory"); o[t] = r;'
BAR = 'asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(place(&bar)));'
ARRIVE = 'asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(place(&bar)) : "memory");'
PASSED = 'asm volatile("{.reg .pred p; LOOP: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra LOOP;}"'
PASSED += ' :: "r"(place(&bar)) : "memory");'
UNORDERED = {
    "a vote": "s[t] = t; __ballot_sync(~0u, t & 1);\no[t] = s[t ^ 1];",
    "a match": "s[t] = t; o[t + 32] = __match_any_sync(~0u, t / 2);\no[t] = s[t ^ 1];",
    "a shuffle": "s[t] = t; o[t + 32] = __shfl_xor_sync(~0u, t, 1);\no[t] = s[t ^ 1];",
    "a reduction": "s[t] = t; o[t + 32] = __reduce_add_sync(~0u, t);\no[t] = s[t ^ 1];",
    "a match between writes": "int m = __match_any_sync(~0u, t & 1); if (t == 0) s[0] = m;\n"
    "__match_any_sync(~0u, t); if (t == 1) s[0] = 2 + m; __syncwarp(); o[t] = s[0];",
    "stores, then wmma": f"for (int i = 0; i < 4; ++i) s[t + 32 * i] = 0;\n{LOADED}",
    "stores, then ldmatrix": f"s[t] = t;\n{LDMATRIX}",
    "a fence": "s[t] = t; __threadfence_block();\no[t] = s[t ^ 1];",
    "a device fence": "s[t] = t; __threadfence();\no[t] = s[t ^ 1];",
    "fence.acq_rel": 's[t] = t; asm volatile("fence.acq_rel.cta;" ::: "memory");\no[t] = s[t ^ 1];',
    "membar": 's[t] = t; asm volatile("membar.cta;" ::: "memory");\no[t] = s[t ^ 1];',
    "a proxy's fence": 's[t] = t; asm volatile("fence.proxy.async;" ::: "memory");\no[t] = s[t ^ 1];',
    "a fence between volatile accesses": "volatile float* v = s; v[t] = t; __threadfence_block();\no[t] = v[t ^ 1];",
    "a fence, then ldmatrix": f"s[t] = t; __threadfence_block();\n{LDMATRIX}",
    "a copy of another lane": "copy(s + t, x + t); wait();\no[t] = s[t ^ 1];",
    "__syncwarp ahead of the wait": "copy(s + t, x + t); __syncwarp(); wait();\no[t] = s[t ^ 1];",
    "a copy, then a vote": "copy(s + t, x + t); wait(); __any_sync(~0u, t);\no[t] = s[t ^ 1];",
    "a copy, then ldmatrix": f"copy(s + t, x + t); wait();\n{LDMATRIX}",
}
IN_ORDER = {
    "a vote and __syncwarp": "s[t] = t; __ballot_sync(~0u, t & 1); __syncwarp(); o[t] = s[t ^ 1];",
    "reads ahead of a shuffle": "s[t] = t; __syncwarp(); float v = s[t ^ 1]; s[t] = v + __shfl_xor_sync(~0u, v, 1);",
    "reads ahead of a vote": "s[t] = t; __syncwarp(); float v = s[t ^ 1]; s[t] = __any_sync(~0u, v > 5); o[t] = s[t];",
    "a fence and __syncwarp": "s[t] = t; __threadfence_block(); __syncwarp(); o[t] = s[t ^ 1];",
    "a flag that is polled atomically": "int* f = (int*)&s[200]; if (t == 0) *f = 0; __syncwarp(); if (t == 0) "
    "{ s[0] = 3; __threadfence_block(); atomicExch(f, 1); } else { while (!atomicAdd(f, 0)); __threadfence_block(); "
    "o[t] = s[0]; }",
    "a mask of pairs": "s[t] = t; __syncwarp(3u << (t & ~1)); o[t] = s[t ^ 1];",
    "stores, __syncwarp, wmma": f"for (int i = 0; i < 4; ++i) s[t + 32 * i] = 0; __syncwarp(); {LOADED}",
    "wmma, mma, stores": "for (int i = 0; i < 4; ++i) s[t + 32 * i] = 0; __syncwarp(); "
    f"{LOADED} wmma::fragment<wmma::accumulator, 16, 16, 16, float> c; wmma::fill_fragment(c, 0);"
    "wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b; wmma::fill_fragment(b, __half(1.f));"
    "wmma::mma_sync(c, a, b, c); s[t] = t; o[t + 32] = c.x[0];",
    "a lane's own row, then ldmatrix": f"if (t < 8) for (int i = 0; i < 4; ++i) s[t * 4 + i] = t; {LDMATRIX}",
    "a lane's own copy": "copy(s + t, x + t); wait(); o[t] = s[t];",
    "a copy and __syncwarp": "copy(s + t, x + t); wait(); __syncwarp(); o[t] = s[t ^ 1];",
    "a copy and __syncthreads": "copy(s + t, x + t); wait(); __syncthreads(); o[t] = s[t ^ 1];",
    "a copy and a mask of pairs": "copy(s + t, x + t); wait(); __syncwarp(3u << (t & ~1)); o[t] = s[t ^ 1];",
    "copies in rounds": "for (int i = 0; i < 3; ++i) { copy(s + t, x + t); wait(); __syncwarp(); o[t] = s[t ^ 1]; "
    "__syncwarp(); }",
    "a copy that an mbarrier counts": f"if (t == 0) {{ {BAR} }} __syncwarp(); copy(s + t, x + t); {ARRIVE} {PASSED} "
    "o[t] = s[t ^ 1];",
}


def found_in(body: str) -> list[tuple[str, int | None]]:
    with gs.use(gs.VirtualGPU("h200", workers=1, time_limit=20)):
        kernel = gs.cuda(HEAD + body + "\n}")["k"]
        found = kernel.observe(1, 32)(np.zeros(64, np.float32), np.ones(32, np.float32)).findings
        return [(f.kind, f.line) for f in found]


@pytest.mark.parametrize("body", UNORDERED.values(), ids=UNORDERED)
def test_what_waits_for_all_lanes_may_order_no_memory(body: str) -> None:
    """Votes, shuffles and matrix instructions; the wait for one's own copies."""
    assert found_in(body) == [("race", HEAD.count("\n") + 2)]


@pytest.mark.parametrize("body", IN_ORDER.values(), ids=IN_ORDER)
def test_no_race_where_something_orders_the_lanes_memory(body: str) -> None:
    assert found_in(body) == []
