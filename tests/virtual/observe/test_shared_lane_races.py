"""Races in shared memory between the lanes of one warp: which readers of a place are remembered."""

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
