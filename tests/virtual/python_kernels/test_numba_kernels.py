"""Numba's CUDA kernels on the virtual GPU, each against NumPy, without and with the sanitizer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import gridstride as gs

numba = pytest.importorskip("numba", reason="Numba is not installed: pip install 'numba-cuda[cu13]'")
pytest.importorskip("numba_cuda", reason="Numba's CUDA compiler is not installed: pip install 'numba-cuda[cu13]'")
from numba import cuda, float32, int32, types  # noqa: E402

RNG = np.random.default_rng(5)


@pytest.fixture(params=["fast", "sanitize"], autouse=True)
def gpu(request: pytest.FixtureRequest) -> Iterator[gs.VirtualGPU]:
    """A virtual GPU without and with the sanitizer."""
    sanitize = request.param == "sanitize"
    with gs.use(gs.VirtualGPU(workers=2, memory=256 << 20, time_limit=20, sanitize=sanitize)) as device:
        yield device


def vector_add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@pytest.mark.parametrize("layout", ["float32[:]", "float32[::1]"])
@pytest.mark.parametrize("n", [1, 1000])
def test_vector_add(layout: str, n: int) -> None:
    kernel = gs.numba(vector_add, f"void({layout}, {layout}, {layout})")["vector_add"]
    x, y, out = RNG.random(n, np.float32), RNG.random(n, np.float32), np.zeros(n, np.float32)
    kernel[-(-n // 128), 128](x, y, out)
    assert (out == x + y).all()


def test_device_arrays_and_a_decorated_function() -> None:
    kernel = gs.numba(cuda.jit(vector_add), types.void(*[types.float64[::1]] * 3))["vector_add"]
    x, y = RNG.random((2, 300))
    out = gs.empty(300, np.float64)
    kernel.launch(grid=3, block=100, args=(gs.to_device(x), gs.to_device(y), out))
    assert (out.numpy() == x + y).all()


def block_sums(x, out):
    part = cuda.shared.array(128, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()
    half = 64
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])


def test_reduction_through_shared_memory() -> None:
    kernel = gs.numba(block_sums, "void(float32[:], float32[:])")["block_sums"]
    x, out = RNG.integers(0, 100, 1000).astype(np.float32), np.zeros(1, np.float32)
    kernel[8, 128](x, out)
    assert out[0] == x.sum()


def sums_in_dynamic_shared(x, out):
    part = cuda.shared.array(0, int32)
    t = cuda.threadIdx.x
    part[t] = x[t]
    cuda.syncthreads()
    out[t] = part[cuda.blockDim.x - 1 - t]


def test_dynamic_shared_memory() -> None:
    kernel = gs.numba(sums_in_dynamic_shared, "void(int32[:], int32[:])")["sums_in_dynamic_shared"]
    x, out = np.arange(96, dtype=np.int32), np.zeros(96, np.int32)
    kernel[1, 96, 96 * 4](x, out)
    assert (out == x[::-1]).all()


def counts(x, bins, top, low, first):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i] % bins.size, 1)
        cuda.atomic.max(top, 0, x[i])
        cuda.atomic.min(low, 0, x[i])
        cuda.atomic.compare_and_swap(first, -1, x[i])


def test_atomics() -> None:
    kernel = gs.numba(counts, "void(int32[:], int32[:], int32[:], int32[:], int32[:])")["counts"]
    x, bins = RNG.integers(0, 1000, 777).astype(np.int32), np.zeros(10, np.int32)
    top, low, first = np.array([-1], np.int32), np.array([10**6], np.int32), np.array([-1], np.int32)
    kernel[7, 128](x, bins, top, low, first)
    assert (bins == np.bincount(x % 10, minlength=10)).all()
    assert (top[0], low[0]) == (x.max(), x.min())
    assert first[0] in x


def doubles(x, total):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])


def test_atomics_on_doubles() -> None:
    kernel = gs.numba(doubles, "void(float64[:], float64[:])")["doubles"]
    x, total = RNG.integers(0, 100, 500).astype(np.float64), np.zeros(1)
    kernel[4, 128](x, total)
    assert total[0] == x.sum()


def scaled(x, out, a, z, shift):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        out[i, j] = math.exp(x[i, j]) * a + z.real - z.imag + shift[1]


@pytest.mark.parametrize("order", ["C", "F"])
def test_two_dimensions_in_either_order(order: str) -> None:
    kernel = gs.numba(scaled, "void(float32[:,:], float32[:,:], float64, complex64, UniTuple(int32, 2))")["scaled"]
    x, out = RNG.random((21, 37), np.float32), np.zeros((21, 37), np.float32, order=order)
    kernel[(3, 5), (8, 8)](x, out, 2.0, 3 + 1j, (7, 5))
    np.testing.assert_allclose(out, 2 * np.exp(x) + 7, rtol=1e-6)


def test_an_array_that_must_be_in_fortran_order() -> None:
    kernel = gs.numba(scaled, "void(float32[:,:], float32[::1,:], float64, complex64, UniTuple(int32, 2))")["scaled"]
    x = RNG.random((4, 5), np.float32)
    with pytest.raises(gs.LaunchError, match=r"out is float32\[::1, :\] and the array is not in Fortran order"):
        kernel[(1, 1), (8, 8)](x, x.copy(), 2.0, 0j, (0, 0))
    out = np.zeros_like(x, order="F")
    kernel[(1, 1), (8, 8)](x, out, 1.0, 0j, (0, 0))
    np.testing.assert_allclose(out, np.exp(x), rtol=1e-6)


@cuda.jit(device=True)
def squared(v):
    return v * v


def warp_sum(x, out):
    v = squared(x[cuda.grid(1)])
    for apart in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, apart)
    if cuda.laneid == 0:
        out[cuda.grid(1) // 32] = v


def test_shuffles_and_a_device_function() -> None:
    kernel = gs.numba(warp_sum, "void(int32[:], int32[:])")["warp_sum"]
    x, out = RNG.integers(0, 100, 128).astype(np.int32), np.zeros(4, np.int32)
    kernel[2, 64](x, out)
    assert (out == (x * x).reshape(4, 32).sum(1)).all()


def past_the_end(x):
    x[cuda.grid(1)] = 1


def test_a_fault_names_the_line_of_python() -> None:
    kernel = gs.numba(past_the_end, "void(int32[::1])")["past_the_end"]
    with pytest.raises(gs.KernelFault, match="out of bounds") as caught:
        kernel[1, 128](np.zeros(100, np.int32))
    assert (caught.value.file, caught.value.line) == (__file__, past_the_end.__code__.co_firstlineno + 1)


def reversed_without_a_barrier(x):
    part = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    part[t] = x[t]
    x[t] = part[127 - t]


def test_a_missing_barrier_is_found() -> None:
    kernel = gs.numba(reversed_without_a_barrier, "void(int32[::1])")["reversed_without_a_barrier"]
    with gs.use(gs.VirtualGPU(sanitize=True, workers=1)), pytest.raises(gs.KernelFault, match="race") as caught:
        kernel[1, 128](np.zeros(128, np.int32))
    assert caught.value.line - reversed_without_a_barrier.__code__.co_firstlineno in (3, 4)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((1, 2), "vector_add takes 3 arguments .float32.:. x, float32.:. y, float32.:. out., 2 were given"),
        ((1, 2, 3), "x is float32.:., a int was given: pass an array"),
        ((np.zeros(4), np.zeros(4, "f4"), np.zeros(4, "f4")), "x is float32.:. ., an array of float64 was given"),
        ((np.zeros((2, 2), "f4"),) * 3, "x is float32.:., an array of 2 dimensions was given"),
        ((np.zeros(8, "f4")[::2],) * 3, "x is not C-contiguous"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(args: tuple, message: str) -> None:
    kernel = gs.numba(vector_add, "void(float32[:], float32[:], float32[:])")["vector_add"]
    with pytest.raises(gs.LaunchError, match=message):
        kernel[1, 32](*args)


def test_observe_counts_by_line_of_python() -> None:
    kernel = gs.numba(vector_add, "void(float32[::1], float32[::1], float32[::1])")["vector_add"]
    x = RNG.random(256, np.float32)
    with gs.use(gs.VirtualGPU(workers=1)):
        run = kernel.observe(2, 128)(x, x.copy(), np.zeros_like(x))
    assert run.findings == ()
    assert run.counters.global_sectors == 3 * 256 * 4 // 32


def halves(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = cuda.fp16.hfma(x[i], y[i], y[i]) - cuda.fp16.hsqrt(x[i]) if x[i] > y[i] else cuda.fp16.hmax(x[i], y[i])


def test_float16_operations() -> None:
    kernel = gs.numba(halves, "void(float16[:], float16[:], float16[:])")["halves"]
    x, y = RNG.random((2, 200)).astype(np.float16)
    out = np.zeros(200, np.float16)
    kernel[2, 128](x, y, out)
    fused = (x.astype(np.float64) * y + y).astype(np.float16)
    want = np.where(x > y, fused - np.sqrt(x.astype(np.float64)).astype(np.float16), np.maximum(x, y))
    assert (out == want).all()


def steps_of_a_grid(a, b, n):
    grid, i = cuda.cg.this_grid(), cuda.grid(1)
    for _ in range(n):
        b[i] = a[(i + 1) % a.size] + 1
        grid.sync()
        a[i] = b[i]
        grid.sync()


def test_a_grid_that_meets_is_launched_as_one() -> None:
    kernel = gs.numba(steps_of_a_grid, "void(int32[:], int32[:], int32)")["steps_of_a_grid"]
    a = np.arange(256, dtype=np.int32)
    kernel[4, 64](a, np.zeros_like(a), 5)
    assert (a == np.roll(np.arange(256), -5) + 5).all()
    with gs.use(gs.VirtualGPU(workers=1)):
        assert kernel.observe(4, 64)(a, np.zeros_like(a), 1).findings == ()


LINKED = """
extern "C" __device__ int scaled_sum(float *result, float a, float b) { *result = 2 * a + b; return 0; }
"""
scaled_sum = cuda.declare_device("scaled_sum", "float32(float32, float32)")


def sums_by_c(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = scaled_sum(x[i], y[i])


@pytest.mark.parametrize("kind", ["cu", "ptx", "memory"])
def test_a_device_function_of_another_language(kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"functions.{kind}"
    file.write_text(LINKED if kind == "cu" else gs.cuda(LINKED, ("-rdc=true",)).ptx)
    link = cuda.CUSource(LINKED) if kind == "memory" else str(file)
    kernel = gs.numba(cuda.jit(sums_by_c, link=[link]), "void(float32[:], float32[:])")["sums_by_c"]
    x, y = RNG.random((2, 100)).astype(np.float32)
    want = (2 * x + y).astype(np.float32)
    kernel[1, 128](x, y)
    np.testing.assert_allclose(y, want, rtol=1e-6)


def test_what_is_linked_and_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(gs.LinkError, match=r"`scaled_sum` is used in .*test_numba_kernels.py:\d+ and has no body"):
        gs.numba(sums_by_c, "void(float32[:], float32[:])")["sums_by_c"]
    gone = cuda.jit(sums_by_c, link=[str(tmp_path / "gone.cu")])
    with pytest.raises(ValueError, match=r"link= names .*gone.cu, which cannot be read: No such file"):
        gs.numba(gone, "void(float32[:], float32[:])")
    wrong = tmp_path / "wrong.cu"
    wrong.write_text("__device__ int f() { return nowhere; }")
    with pytest.raises(gs.CompileError, match=r'wrong.cu:1:29: error: identifier "nowhere" is'):
        gs.numba(cuda.jit(sums_by_c, link=[str(wrong)]), "void(float32[:], float32[:])")
