"""Buffers of a fixed size between Python and generated code: one less than they hold, what they hold, one more."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.abi.copy_queue import MAX_COPIES
from gridstride.virtual.abi.finding_records import MAX_FINDINGS
from gridstride.virtual.abi.grid_launches import MAX_FAILURES
from gridstride.virtual.abi.memory_records import HEAP_UNIT
from gridstride.virtual.abi.output_records import OUTPUT

EDGE = pytest.mark.parametrize("past", [-1, 0, 1], ids=["one_less", "full", "one_more"])


@EDGE
def test_the_output_buffer(past: int, capfd: pytest.CaptureFixture[str]) -> None:
    text = "12345678901\n"  # 12 characters and an end: 16 bytes with what rounds a record up to 8
    records = 16
    record = OUTPUT.size + 16
    source = f'extern "C" __global__ void say() {{ printf("{text[:-1]}\\n"); }}'
    with gs.use(gs.VirtualGPU(printf_buffer=records * record + past, workers=1)):
        say = gs.cuda(source)["say"]
        if past < 0:
            with pytest.warns(RuntimeWarning, match="1 printf calls of the kernel are not shown"):
                say[1, records]()
        else:
            say[1, records]()
    assert capfd.readouterr().out == text * (records - (past < 0))


LAUNCHES = """
extern "C" __global__ void child(int *n) { atomicAdd(n, 1); }
extern "C" __global__ void parent(int *n, int *refused) {
    child<<<1, 1>>>(n);
    if (cudaGetLastError() != cudaSuccess) atomicAdd(refused, 1);
}
"""


@EDGE
def test_the_queue_of_launches_from_kernels(past: int) -> None:
    limit = 64
    with gs.use(gs.VirtualGPU(pending_launches=limit, workers=1)):
        n, refused = np.zeros(1, np.int32), np.zeros(1, np.int32)
        gs.cuda(LAUNCHES, options=("-rdc=true",))["parent"][1, limit + past](n, refused)
    assert (n[0], refused[0]) == (limit + min(past, 0), max(past, 0))


@EDGE
def test_the_list_of_failed_launches(past: int) -> None:
    source = LAUNCHES.replace("child<<<1, 1>>>", "child<<<1, 2048>>>").replace(
        "if (cudaGetLastError() != cudaSuccess) atomicAdd(refused, 1);", ""
    )
    with gs.use(gs.VirtualGPU(workers=1)):
        n = np.zeros(1, np.int32)
        with pytest.warns(RuntimeWarning, match=f"{MAX_FAILURES + past - 1} more like it"):
            gs.cuda(source, options=("-rdc=true",))["parent"][1, MAX_FAILURES + past](n, n)
    assert n[0] == 0


@EDGE
def test_the_device_heap(past: int) -> None:
    units = 1024
    source = 'extern "C" __global__ void ask(long long n, int *got) { *got = malloc(n) != nullptr; }'
    with gs.use(gs.VirtualGPU(heap=units * HEAP_UNIT, workers=1)):
        got = np.full(1, 7, np.int32)
        # A block has a unit of its own behind it.
        gs.cuda(source)["ask"][1, 1]((units - 1) * HEAP_UNIT + past, got)
    assert got[0] == (past <= 0)


@EDGE
def test_the_queue_of_copies_that_have_not_landed(gpu: gs.VirtualGPU, past: int) -> None:
    count = MAX_COPIES + past
    source = f"""
    #include <cuda_pipeline.h>
    extern "C" __global__ void bring(const int *x, int *y) {{
        __shared__ int tile[{count} * 32];
        for (int i = 0; i < {count}; ++i)
            __pipeline_memcpy_async(&tile[i * 32 + threadIdx.x], &x[i * 32 + threadIdx.x], 4);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        for (int i = 0; i < {count}; ++i) y[i * 32 + threadIdx.x] = tile[i * 32 + threadIdx.x];
    }}
    """
    gpu.sanitize = True
    x, y = np.arange(count * 32, dtype=np.int32), np.zeros(count * 32, np.int32)
    gs.cuda(source)["bring"][1, 32](x, y)
    np.testing.assert_array_equal(x, y)


@EDGE
def test_the_list_of_findings(gpu: gs.VirtualGPU, past: int) -> None:
    """Each statement by which two warps write the same word is a race of its own."""
    count = MAX_FINDINGS + past
    writes = "\n".join(f"    x[{i}] = threadIdx.x;" for i in range(count))
    source = f"""extern "C" __global__ void race(int *y) {{
    __shared__ int x[{count}];
{writes}
    for (int i = 0; i < {count}; ++i) y[64 * i + threadIdx.x] = ((volatile int *)x)[i];
}}"""
    found = gs.cuda(source)["race"].observe(1, 64)(np.zeros(64 * count, np.int32)).findings
    assert len(found) == min(count + 1, MAX_FINDINGS)  # and one between a write and the read
    assert {f.kind for f in found} == {"race"}


@pytest.mark.parametrize(("number", "right"), [(14, True), (15, True), (16, False)])
def test_named_barriers(gpu: gs.VirtualGPU, number: int, right: bool) -> None:
    source = 'extern "C" __global__ void meet(int n) { asm volatile("bar.sync %0;" :: "r"(n)); }'
    kernel = gs.cuda(source)["meet"]
    if right:
        kernel[1, 64](number)
        return
    with pytest.raises(gs.KernelFault):
        kernel[1, 64](number)
