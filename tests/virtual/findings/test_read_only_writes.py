"""Stores to memory that a launch was only to read are found, whatever it holds in the end."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.findings.finding import KernelFinding

HEAD = """extern "C" __global__ void k(float *x, float *y, float *z) {
const int i = blockIdx.x * blockDim.x + threadIdx.x;
"""
WRITES = {
    "and puts back": "float a = x[i];\nx[i] = 0;\ny[i] = x[i];\nx[i] = a;",
    "one element": "y[i] = x[i];\nif (i == 77) x[77] = 3;",
    "a vector": "if (i < 16) ((float4*)x)[i] = make_float4(1, 2, 3, 4);",
    "an atomic": "atomicExch(x + i, y[i]);",
}
READS = {
    "reads only": "y[i] = x[i];",
    "writes beside it": "y[i] = x[i];\nz[i] = x[i] + 1;",
}


def findings(body: str, *, launches: int = 1) -> tuple[KernelFinding, ...]:
    """What is found of stores to x in the last launch."""
    gpu = gs.VirtualGPU(workers=1, memory=16 << 20)
    with gs.use(gpu):
        kernel = gs.cuda(HEAD + body + "\n}", filename="writes.cu")["k"]
        x, y, z = (gs.to_device(np.arange(128, dtype=np.float32)) for _ in range(3))
        with gpu.reading_only([(x.address, x.nbytes)]):
            runs = [kernel.observe(2, 64)(x, y, z) for _ in range(launches)]
        return tuple(f for f in runs[-1].findings if f.kind == "read_only_write")


@pytest.mark.parametrize("body", WRITES.values(), ids=WRITES)
def test_a_store_is_found(body: str) -> None:
    assert len(findings(body)) == 1


@pytest.mark.parametrize("body", READS.values(), ids=READS)
def test_nothing_is_found_where_nothing_is_stored(body: str) -> None:
    assert findings(body, launches=2) == ()


def test_the_finding_names_line_element_block_and_thread() -> None:
    (found,) = findings(WRITES["one element"])
    assert (found.line, found.block, found.thread) == (4, (1, 0, 0), (13, 0, 0))
    assert "writes x[77], which this launch was only to read" in found.message


def test_a_launch_that_may_write_says_nothing() -> None:
    with gs.use(gs.VirtualGPU(workers=1, memory=16 << 20)):
        x = gs.to_device(np.zeros(128, np.float32))
        assert gs.cuda(HEAD + "x[i] = i;\n}")["k"].observe(2, 64)(x, x, x).findings == ()
