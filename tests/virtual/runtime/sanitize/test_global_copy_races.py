"""Races in global memory between copies that go on by themselves: cp.async, bulk copies, boxes of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.gpu import VirtualGPU

HEAD = """
struct alignas(64) Map { char bytes[128]; };
__device__ unsigned count;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void out(void* to, const void* from, int n) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
                 :: "l"(to), "r"(at(from)), "r"(n) : "memory");
}
__device__ void add(void* to, const void* from, int n) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;"
                 "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
                 :: "l"(to), "r"(at(from)), "r"(n) : "memory");
}
__device__ void box(const Map* to, int column, int row, const void* from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
                 :: "l"(to), "r"(column), "r"(row), "r"(at(from)) : "memory");
}
__device__ void in(void* to, const void* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.wait_all;" :: "r"(at(to)), "l"(from) : "memory");
}
extern "C" __global__ void kernel(int* a, int* b, const __grid_constant__ Map map) {
    __shared__ alignas(128) int s[128];
    const int t = threadIdx.x, x = blockIdx.x;
    s[t] = t + 7 * VARIES; __syncthreads();
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
"""


def observed(body: str, *, varies: str = "x") -> tuple[Any, ...]:
    """What is found in a launch of four blocks on two arrays of 32 rows of 64 words, of the first of which `map` is the
    tensor map with boxes of 2 rows of 64.
    """
    with gs.use(VirtualGPU(workers=1)):
        text = HEAD.replace("VARIES", varies) + body + "\n}\n"
        kernel = gs.cuda(text, filename="copies.cu")["kernel"]
        a, b = (gs.to_device(np.zeros((32, 64), "i4")) for _ in range(2))
        return tuple(kernel.observe(4, 128)(a, b, gs.tensor_map(a, (2, 64))).findings)


SILENT = {
    "bulk copies to tiles of their own": "if (t == 0) out(a + 128 * x, s, 512);",
    "boxes of their own": "if (t == 0) box(&map, 0, 2 * x, s);",
    "bulk additions to one place": "if (t == 0) add(a, s, 512);",
    "a bulk copy that a fence publishes": """
        if (t == 0) { out(a + 128 * x, s, 512); __threadfence(); s[0] = atomicInc(&count, gridDim.x - 1) == 3; }
        __syncthreads();
        if (s[0]) for (int i = t; i < 512; i += 128) b[i] = a[511 - i];""",
    "copies of what nobody writes": "in(s + t, a + t); b[128 * x + t] = s[t];",
}


@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_found_where_the_code_is_right(name: str) -> None:
    assert observed(SILENT[name]) == ()


def test_bulk_copies_of_the_same_values_to_one_place_are_silent() -> None:
    assert observed("if (t == 0) out(a, s, 512);", varies="1") == ()


FOUND = {
    "bulk copies to overlapping tiles": "if (t == 0) out(a + 64 * x, s, 512);",
    "overlapping boxes": "if (t == 0) box(&map, 0, x, s);",
    "a bulk addition and a plain read": "b[128 * x + t] = a[t]; __syncthreads(); if (t == 0) add(a, s, 512);",
    "a bulk copy that nothing publishes": """
        if (t == 0) { out(a + 128 * x, s, 512); s[0] = atomicInc(&count, gridDim.x - 1) == 3; }
        __syncthreads();
        if (s[0]) for (int i = t; i < 512; i += 128) b[i] = a[511 - i];""",
    "a copy in of what the next block writes": "in(s + t, a + 128 * (x + 1) + t); a[128 * x + t] = 1 + s[t] + x;",
}


@pytest.mark.parametrize("name", FOUND)
def test_a_race_with_a_copy_is_found(name: str) -> None:
    found = observed(FOUND[name])
    assert {f.kind for f in found} == {"race"}
    assert {"copies.cu"} == {f.file for f in found} | {f.other.file for f in found}
    assert all(f.block != f.other.block for f in found)


def test_copies_are_named_as_what_they_do() -> None:
    (found, *_) = observed("if (t == 0) out(a + 64 * x, s, 512);")
    assert found.other.kind == "write"
    assert "writes a[64]" in found.message
