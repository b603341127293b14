"""Reads through the read-only path (`ld.global.nc`) of what the same launch writes: no order makes them right."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.gpu import VirtualGPU

HEAD = """
#include <cooperative_groups.h>
__device__ unsigned count;
extern "C" __global__ void kernel(float* a, float* b, const float* __restrict__ quiet, float* __restrict__ out) {
    [[maybe_unused]] const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, n = gridDim.x * blockDim.x;
"""
BLOCKS, THREADS = 4, 64

FOUND = {
    "another block's, behind a fence and a flag": """
        a[i] = i; __threadfence(); __syncthreads();
        __shared__ bool last;
        if (t == 0) last = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1;
        __syncthreads();
        if (last) for (int k = t; k < n; k += blockDim.x) b[k] = __ldg(a + k);""",
    "of the whole grid, behind its barrier": """
        a[i] = i; cooperative_groups::this_grid().sync();
        b[i] = __ldg(a + n - 1 - i);""",
    "written after the grid's barrier": """
        b[i] = __ldg(a + n - 1 - i); cooperative_groups::this_grid().sync();
        a[i] = i;""",
    "the thread's own": "a[i] = __ldg(a + i) + 1;",
    "one word that all read": "b[i] = __ldg(a); if (i == n - 1) a[0] = 5;",
    "vectors": "if (i < n / 4) { b[i] = __ldg((float4*)a + i).x; } a[i] = 3 * i;",
    "changed by an atomic": "b[i] = __ldg(a + i); atomicAdd(a + i, 1.0f);",
}
SILENT = {
    "an array that nobody writes": "out[i] = quiet[i] + quiet[0];",
    "plain reads of what the block wrote": "a[i] = i; __syncthreads(); b[i] = a[i ^ 32];",
    "its neighbour in memory": "if (i % 2) b[i] = __ldg(a + i); else a[i] = i;",
}


def found(body: str) -> list[str]:
    """Kinds of findings of one launch on arrays of ones, and of a second on the same arrays."""
    with gs.use(VirtualGPU(workers=1, time_limit=20, sanitize=True)):
        kernel = gs.cuda(HEAD + body + "\n}\n")["kernel"]
        arrays = [gs.to_device(np.ones(BLOCKS * THREADS, "f4")) for _ in range(4)]
        try:
            for _ in range(2):
                kernel.launch(grid=BLOCKS, block=THREADS, args=arrays, cooperative="this_grid" in body)
        except gs.KernelFault as fault:
            return [f.kind for f in fault.findings]
    return []


@pytest.mark.parametrize("name", FOUND)
def test_a_read_past_the_caches_of_what_the_launch_writes_is_found(name: str) -> None:
    assert found(FOUND[name]) == ["non_coherent_read"]


@pytest.mark.parametrize("name", SILENT)
def test_a_read_past_the_caches_of_what_nobody_writes_is_none(name: str) -> None:
    assert found(SILENT[name]) == []


def test_the_finding_names_both_sides_and_what_makes_such_reads() -> None:
    with gs.use(VirtualGPU(workers=1, sanitize=True)):
        kernel = gs.cuda(HEAD + "a[i] = i;\nb[i] = __ldg(a + (i ^ 32));\n}\n", filename="ldg.cu")["kernel"]
        with pytest.raises(gs.KernelFault) as caught:
            kernel[1, THREADS](*[gs.to_device(np.ones(THREADS, "f4")) for _ in range(4)])
    said = str(caught.value)
    assert "a[" in said
    assert "read-only cache" in said
    assert "__ldg" in said
    assert {caught.value.line, caught.value.findings[0].other.line} == {6, 7}
