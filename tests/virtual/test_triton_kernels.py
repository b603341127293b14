"""Triton kernels on the virtual GPU, each against NumPy, with the sanitizer on where that is quick enough."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import gridstride as gs

triton = pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.5'")
import triton.language as tl  # noqa: E402

RNG = np.random.default_rng(7)


@pytest.fixture(params=["fast", "sanitize"])
def either(request: pytest.FixtureRequest) -> Iterator[gs.VirtualGPU]:
    """A virtual GPU without and with the sanitizer."""
    sanitize = request.param == "sanitize"
    with gs.use(gs.VirtualGPU(workers=2, memory=256 << 20, time_limit=60, sanitize=sanitize)) as device:
        yield device


def module(fn, **how) -> gs.Module:
    """The kernel, without the note that Hopper's own matrix instructions are to come."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is compiled for sm_89")
        return gs.triton(fn, **how)


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) + tl.load(y_ptr + i, mask=i < n), mask=i < n)


@pytest.mark.parametrize("n", [1, 127, 1024, 5000])
@pytest.mark.parametrize("hint", ["", ":16"])
def test_add(either: gs.VirtualGPU, n: int, hint: str) -> None:
    pointer = f"*fp32{hint}"
    kernel = module(add, signature=[pointer, pointer, pointer, "i32"], constants={"BLOCK": 256})["add"]
    x, y, out = RNG.random(n, np.float32), RNG.random(n, np.float32), np.zeros(n, np.float32)
    kernel[-(-n // 256)](x, y, out, n)
    assert (out == x + y).all()


@triton.jit
def softmax(x_ptr, out_ptr, columns, stride, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + i, e / tl.sum(e, axis=0), mask=i < columns)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
def test_softmax(either: gs.VirtualGPU, num_warps: int) -> None:
    signature = {"x_ptr": "*kfp32", "out_ptr": "*fp32", "columns": "i32", "stride": "i32"}
    kernel = module(softmax, signature=signature, constants={"BLOCK": 1024}, num_warps=num_warps)["softmax"]
    x = (10 * RNG.standard_normal((7, 781))).astype(np.float32)
    out = np.zeros_like(x)
    kernel[7](x, out, 781, 781)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-9)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        inside = start + k < K
        a = tl.load(a_ptr + m[:, None] * K + start + k[None, :], mask=(m[:, None] < M) & inside[None, :], other=0)
        b = tl.load(b_ptr + (start + k[:, None]) * N + n[None, :], mask=inside[:, None] & (n[None, :] < N), other=0)
        total = tl.dot(a, b, total, input_precision=PRECISION)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


def multiply(dtype: str, tile: tuple[int, int, int], shape: tuple[int, int, int], *, hint: str = "", **how) -> float:
    """Largest error of a product of normal random numbers, in units of the result's standard deviation."""
    numpy_type = {"fp16": np.float16, "fp32": np.float32}[dtype]
    M, N, K = shape
    constants = {"PRECISION": how.pop("precision", "tf32"), **dict(zip(("BM", "BN", "BK"), tile, strict=True))}
    types = [f"*{dtype}{hint}", f"*{dtype}{hint}", f"*fp32{hint}", *(f"i32{hint}",) * 3]
    kernel = module(matmul, signature=types, constants=constants, **how)["matmul"]
    a, b = (RNG.standard_normal(each).astype(numpy_type) for each in ((M, K), (K, N)))
    c = np.full((M, N), np.nan, np.float32)
    kernel[-(-M // tile[0]), -(-N // tile[1])](a, b, c, M, N, K)
    return float(abs(c - a.astype(np.float64) @ b.astype(np.float64)).max() / K**0.5)


@pytest.mark.parametrize("shape", [(64, 64, 64), (100, 72, 50)])
def test_matmul_of_halves(either: gs.VirtualGPU, shape: tuple[int, int, int]) -> None:
    assert multiply("fp16", (32, 32, 32), shape) < 1e-5


def test_matmul_in_tiles_of_a_warp_group(gpu: gs.VirtualGPU) -> None:
    assert multiply("fp16", (64, 64, 32), (128, 64, 96), hint=":16") < 1e-5


@pytest.mark.parametrize("num_stages", [1, 3])
def test_matmul_with_loads_in_flight(either: gs.VirtualGPU, num_stages: int) -> None:
    """Promised alignment lets Triton keep num_stages loads in flight, by cp.async."""
    assert multiply("fp16", (32, 32, 32), (64, 96, 160), hint=":16", num_stages=num_stages) < 1e-5


@pytest.mark.parametrize(("precision", "limit"), [("tf32", 6e-3), ("tf32x3", 1e-5), ("ieee", 1e-5)])
def test_matmul_of_floats(gpu: gs.VirtualGPU, precision: str, limit: float) -> None:
    assert multiply("fp32", (32, 32, 32), (64, 64, 96), precision=precision) < limit


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, out_ptr, keys, scale, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr
):
    """One block of BM queries of one head; q, k, v and out lie as (heads, keys, D)."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d, head = tl.arange(0, D), tl.program_id(1) * keys * D
    q = tl.load(q_ptr + head + m[:, None] * D + d[None, :], mask=m[:, None] < keys, other=0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, keys, BN):
        n = start + tl.arange(0, BN)
        k = tl.load(k_ptr + head + n[None, :] * D + d[:, None], mask=n[None, :] < keys, other=0)
        v = tl.load(v_ptr + head + n[:, None] * D + d[None, :], mask=n[:, None] < keys, other=0)
        seen = n[None, :] < keys
        if CAUSAL:
            seen = seen & (n[None, :] <= m[:, None])
        scores = tl.where(seen, tl.dot(q, k) * scale, -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - new_top[:, None])
        shrink = tl.exp(top - new_top)
        weight = weight * shrink + tl.sum(p, 1)
        total = tl.dot(p.to(v.dtype), v, total * shrink[:, None])
        top = new_top
    tl.store(out_ptr + head + m[:, None] * D + d[None, :], total / weight[:, None], mask=m[:, None] < keys)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(either: gs.VirtualGPU, causal: bool) -> None:
    heads, keys, D = 2, 75, 32
    types = ["*kfp16", "*kfp16", "*kfp16", "*fp32", "i32", "fp32"]
    kernel = module(attention, signature=types, constants={"CAUSAL": causal, "BM": 32, "BN": 32, "D": D})["attention"]
    q, k, v = (RNG.standard_normal((heads, keys, D)).astype(np.float16) for _ in range(3))
    out = np.zeros((heads, keys, D), np.float32)
    kernel[-(-keys // 32), heads](q, k, v, out, keys, D**-0.5)
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2) * D**-0.5
    if causal:
        scores = np.where(np.tri(keys, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(2, keepdims=True))
    expected = weights / weights.sum(2, keepdims=True) @ v
    np.testing.assert_allclose(out, expected, atol=3e-3)


@triton.jit
def histogram(x_ptr, bins_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins_ptr + tl.load(x_ptr + i, mask=i < n, other=0), 1, mask=i < n)


def test_atomics(either: gs.VirtualGPU) -> None:
    kernel = module(histogram, signature=["*i32", "*i32", "i32"], constants={"BLOCK": 128})["histogram"]
    x, bins = RNG.integers(0, 10, 1000).astype(np.int32), np.zeros(10, np.int32)
    kernel[8](x, bins, 1000)
    assert (bins == np.bincount(x, minlength=10)).all()


@triton.jit
def running_sum(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.cumsum(tl.load(x_ptr + i).to(tl.int64), 0))


def test_scan_over_warps(either: gs.VirtualGPU) -> None:
    kernel = module(running_sum, signature=["*i32", "*i64"], constants={"BLOCK": 512})["running_sum"]
    x, out = RNG.integers(-100, 100, 512).astype(np.int32), np.zeros(512, np.int64)
    kernel[1](x, out)
    assert (out == x.cumsum()).all()


def test_a_fault_names_the_line_of_python(gpu: gs.VirtualGPU) -> None:
    kernel = module(add, signature=["*fp32", "*fp32", "*fp32", "i32"], constants={"BLOCK": 256})["add"]
    x = np.zeros(1000, np.float32)
    with pytest.raises(gs.KernelFault, match="out of bounds") as caught:
        kernel[4](x, x.copy(), x.copy(), 1024)
    assert caught.value.file == __file__
    assert caught.value.line == add.def_file_line_number + 2
