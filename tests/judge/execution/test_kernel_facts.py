"""What the text of a kernel's PTX says of it."""

from __future__ import annotations

import pytest

import gridstride as gs
from gridstride.judge.execution.kernel_facts import KernelFacts
from gridstride.judge.sandbox.records import facts_of, facts_words

TALLIES = {
    "nothing": ("y[t] = x[t] + 1;", False),
    "shared memory": ("__shared__ int s[32]; s[t] = x[t]; __syncthreads(); y[t] = s[31 - t];", True),
    "an atomic": ("atomicAdd(y, x[t]);", True),
    "a vote": ("y[t] = __ballot_sync(~0u, x[t] > 0);", True),
    "a shuffle": ("y[t] = __shfl_down_sync(~0u, x[t], 1);", True),
    "a barrier that counts": ("y[t] = __syncthreads_count(x[t]);", True),
    "a barrier alone": ("int v = x[t]; __syncthreads(); y[t] = v;", False),
}


@pytest.mark.parametrize("name", TALLIES)
def test_threads_count_together_in_shared_memory_by_atomics_and_by_votes(name: str) -> None:
    body, tallies = TALLIES[name]
    source = f'extern "C" __global__ void k(const int* x, int* y) {{ int t = threadIdx.x; {body} }}'
    facts = KernelFacts.of(gs.cuda(source).ptx)
    assert facts.tallies is tallies
    assert facts_of(facts_words(facts)).tallies is tallies
