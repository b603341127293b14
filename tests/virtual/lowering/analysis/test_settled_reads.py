"""Plain loads of a maximum that atomics make, told from those that save an atomic."""

from __future__ import annotations

import pytest

from gridstride.compiler import compile_cuda
from gridstride.virtual.lowering.analysis.normalise import SyncEffects
from gridstride.virtual.lowering.kernel import prepare
from gridstride.virtual.ptx import parse

KERNEL = """
extern "C" __global__ void k(int *out, const int *x, int n) {
    __shared__ int m;
    const int t = threadIdx.x;
    if (t == 0) m = 0;
    __syncthreads();
    BODY
}"""
SETTLED = {
    "behind an atomic": "atomicMax(&m, x[t]); out[t] = m;",
    "in a sum": "atomicMin(&m, x[t]); __syncthreads(); out[t] = 3 * m + 1;",
    "through a shuffle": "atomicOr(&m, x[t]); int all = m; out[t] = __shfl_sync(~0u, all, 0);",
    "added to another word": "atomicMax(&m, x[t]); atomicAdd(out, m);",
    "as an index": "atomicMax(&m, x[t]); out[m] = x[m + 1];",
    "behind a loop": "for (int i = 0; i < n; ++i) atomicMax(&m, x[i]); out[t] = m;",
}
OTHERS = {
    "ahead of an atomic": "if (m < x[t]) atomicMax(&m, x[t]);",
    "in a loop with an atomic": "for (int i = t; i < n; i += 32) { out[i] = m; atomicMax(&m, x[i]); }",
    "a condition": "atomicMax(&m, x[t]); if (m < 5) out[t] = 1;",
    "a word that is swapped": "atomicCAS(&m, 0, x[t]); out[t] = m;",
    "a sum": "atomicAdd(&m, x[t]); out[t] = m;",
    "volatile": "atomicMax(&m, x[t]); out[t] = *(volatile int *)&m;",
}


def settled(body: str) -> int:
    (entry,) = parse(compile_cuda(KERNEL.replace("BODY", body)).ptx).entries
    return len(prepare(entry, frozenset(), SyncEffects())[0].settled)


@pytest.mark.parametrize("name", SETTLED)
def test_what_is_written_is_taken_for_the_last_word(name: str) -> None:
    assert settled(SETTLED[name]) == 1


@pytest.mark.parametrize("name", OTHERS)
def test_what_may_save_an_atomic_is_not(name: str) -> None:
    assert settled(OTHERS[name]) == 0
