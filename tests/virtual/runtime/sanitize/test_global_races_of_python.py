"""Races in global memory of Triton and Numba kernels: what is found, with its line of Python, and what is silent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.gpu import VirtualGPU

HERE = Path(__file__).read_text().splitlines()


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(HERE, 1) if line.endswith(text))


def findings(kernel: gs.Kernel, grid: int, block: int, *arguments: Any) -> tuple[Any, ...]:
    with gs.use(VirtualGPU(workers=1, sanitize=True)):
        try:
            kernel.launch(grid=grid, block=block, args=arguments)
        except gs.KernelFault as fault:
            return fault.findings
    return ()


# -- Numba ------------------------------------------------------------------------------------------------------------
def numba_kernel(function: Any, signature: str) -> gs.Kernel:
    return gs.numba(function, signature)[function.__name__]


numba = pytest.importorskip("numba", reason="Numba is not installed: pip install 'numba-cuda[cu13]'")
pytest.importorskip("numba_cuda", reason="Numba's CUDA compiler is not installed: pip install 'numba-cuda[cu13]'")
from numba import cuda, float32  # noqa: E402


def histogram(x, bins):
    bins[x[cuda.grid(1)] % bins.size] += 1  # plain


def histogram_of_atomics(x, bins):
    cuda.atomic.add(bins, x[cuda.grid(1)] % bins.size, 1)


def last_block_sums(x, part, count, out):
    shared = cuda.shared.array(32, float32)
    t, last = cuda.threadIdx.x, cuda.gridDim.x - 1
    if t == 0:
        total = float32(0)
        for i in range(cuda.blockDim.x):
            total += x[cuda.blockIdx.x * cuda.blockDim.x + i]
        part[cuda.blockIdx.x] = total
        cuda.threadfence()
        shared[0] = cuda.atomic.inc(count, 0, last)
    cuda.syncthreads()
    if shared[0] == last and t == 0:
        for i in range(cuda.gridDim.x):
            out[0] += part[i]


def test_a_histogram_without_atomics_is_found_in_its_line_of_python() -> None:
    x, bins = np.arange(256, dtype=np.int32), np.zeros(4, np.int32)
    found = findings(numba_kernel(histogram, "void(int32[::1], int32[::1])"), 8, 32, x, bins)
    line = line_of("+= 1  # plain")
    assert {(f.kind, f.line, f.other.line) for f in found} == {("race", line, line)}


def test_a_histogram_of_atomics_is_silent() -> None:
    x, bins = np.arange(256, dtype=np.int32), np.zeros(4, np.int32)
    assert findings(numba_kernel(histogram_of_atomics, "void(int32[::1], int32[::1])"), 8, 32, x, bins) == ()
    assert (bins == 64).all()


def test_a_threadfence_reduction_is_silent() -> None:
    x, part, out = np.ones(256, np.float32), np.zeros(8, np.float32), np.zeros(1, np.float32)
    kernel = numba_kernel(last_block_sums, "void(float32[::1], float32[::1], uint32[::1], float32[::1])")
    assert findings(kernel, 8, 32, x, part, np.zeros(1, np.uint32), out) == ()
    assert out[0] == 256


# -- Triton -----------------------------------------------------------------------------------------------------------
triton = pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.5'")
import triton.language as tl  # noqa: E402


@triton.jit
def doubled(x_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, 2 * tl.load(x_ptr + i))


@triton.jit
def blurred(x_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x_ptr + tl.maximum(i - 1, 0))  # the neighbour's
    tl.store(x_ptr + i, left + i)  # its own


@triton.jit
def split_sum(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + i), axis=0))


@triton.jit
def locked(lock_ptr, sum_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(sum_ptr + i, tl.load(sum_ptr + i) + i)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@pytest.mark.parametrize("block", [16, 128, 512])
def test_a_program_that_works_in_place_is_silent(block: int) -> None:
    """With fewer elements than threads, warps load what another warp stores over: that is Triton's business."""
    x = np.ones(4 * block, np.float32)
    kernel = gs.triton(doubled, signature="*fp32", constants={"BLOCK": block})["doubled"]
    assert findings(kernel, 4, 128, x) == ()
    assert (x == 2).all()


def test_a_program_that_reads_what_its_neighbour_writes_is_found() -> None:
    kernel = gs.triton(blurred, signature="*fp32", constants={"BLOCK": 128})["blurred"]
    found = findings(kernel, 4, 128, np.ones(512, np.float32))
    lines = {line_of("# the neighbour's"), line_of("# its own")}
    assert [(f.kind, {f.line, f.other.line}) for f in found] == [("race", lines)]


def test_programs_that_add_atomically_are_silent() -> None:
    kernel = gs.triton(split_sum, signature="*fp32, *fp32", constants={"BLOCK": 128})["split_sum"]
    total = np.zeros(1, np.float32)
    assert findings(kernel, 4, 128, np.ones(512, np.float32), total) == ()
    assert total[0] == 512


def test_programs_that_take_a_lock_are_silent() -> None:
    kernel = gs.triton(locked, signature="*i32, *i32", constants={"BLOCK": 64})["locked"]
    total = np.zeros(64, np.int32)
    assert findings(kernel, 6, 128, np.zeros(1, np.int32), total) == ()
    assert (total == 6 * np.arange(64)).all()
