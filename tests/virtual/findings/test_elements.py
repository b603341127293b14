"""Places in global memory are told by the names that the source has for them."""

from __future__ import annotations

import numpy as np

import gridstride as gs

VARIABLES = """
__device__ float partial[132];
__device__ unsigned long long words[100];
extern "C" __global__ void both(int n) { if (threadIdx.x == 0) words[n] = blockIdx.x; }
extern "C" __global__ void beyond(float* x, int n) { x[threadIdx.x] = partial[n + threadIdx.x]; }
"""


def test_a_variable_of_the_module_is_named_with_its_element() -> None:
    with gs.use(gs.VirtualGPU("h200")):
        module = gs.cuda(VARIABLES)
        (race,) = module["both"].observe(2, 32)(3).findings
        (beyond,) = module["beyond"].observe(1, 4)(gs.empty(4, np.float32), 129).findings
    assert "writes words[3], which" in race.message
    assert "at partial[132] of 132 elements, just past the end of its memory" in beyond.message
