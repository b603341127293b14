"""The tables of an observed build come out of the cache as they went in."""

from __future__ import annotations

import json
from dataclasses import asdict

from gridstride.compiler.cuda.compile_cuda import compile_cuda
from gridstride.virtual.abi.counter_tables import CounterTables
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.kernel import lower_kernel
from gridstride.virtual.lowering.observed.counting import Counting
from gridstride.virtual.ptx import parse

SOURCE = """
extern "C" __global__ void k(const float* in, float* out, int n) {
    __shared__ float tile[32];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < n) out[threadIdx.x] = tile[31 - threadIdx.x];
}
"""


def test_tables_are_the_same_after_a_stay_in_the_cache() -> None:
    observer = Counting()
    lower_kernel(parse(compile_cuda(SOURCE, filename="k.cu").ptx), "k", BlockShape.of(32, 1, 1), observer)
    tables = observer.tables()
    assert tables.blocks
    assert tables.accesses
    assert tables.entries
    assert CounterTables.from_json(json.loads(json.dumps(asdict(tables)))) == tables
