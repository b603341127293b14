"""Triton kernels that it compiles to wgmma: tiles of a warpgroup, loads in flight, tensor descriptors, warp roles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gridstride as gs

triton = pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.5'")
import triton.language as tl  # noqa: E402

RNG = np.random.default_rng(7)
POINTERS = ["*kfp16:16", "*kfp16:16", "*fp32:16"]


@pytest.fixture(params=["fast", "sanitize"])
def either(request: pytest.FixtureRequest) -> Iterator[gs.VirtualGPU]:
    """A virtual GPU without and with the sanitizer."""
    sanitize = request.param == "sanitize"
    with gs.use(gs.VirtualGPU(workers=2, memory=256 << 20, time_limit=60, sanitize=sanitize)) as device:
        yield device


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * K + start + k[None, :])
        b = tl.load(b_ptr + n[None, :] * K + start + k[:, None])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total)


@triton.jit
def matmul_by_descriptors(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROLES: tl.constexpr
):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=ROLES):
        total = tl.dot(a.load([m, k]), b.load([n, k]).T, total)
    c.store([m, n], total)


def multiply(fn, types: list[str], tile: tuple[int, int, int], *, dtype=np.float16, **how) -> gs.Module:
    """C = A · Bᵀ of two tiles each way and four steps, held against NumPy."""
    constants = dict(zip(("BM", "BN", "BK"), tile, strict=True)) | how.pop("constants", {})
    made = gs.triton(fn, signature=types, constants=constants, **how)
    M, N, K = 2 * tile[0], 2 * tile[1], 4 * tile[2]
    a, b = (RNG.standard_normal(shape).astype(dtype) for shape in ((M, K), (N, K)))
    c = np.full((M, N), np.nan, np.float32)
    sizes = (N, K) if fn is matmul else (M, N, K)
    made[fn.__name__][2, 2](a, b, c, *sizes)
    assert abs(c - a.astype(np.float64) @ b.astype(np.float64).T).max() < 1e-4
    return made


@pytest.mark.parametrize("num_stages", [1, 3])
def test_matmul(either: gs.VirtualGPU, num_stages: int) -> None:
    made = multiply(matmul, [*POINTERS, "i32:16", "i32:16"], (64, 64, 64), num_stages=num_stages)
    assert "wgmma.mma_async" in made.ptx


def test_matmul_of_two_warpgroups(either: gs.VirtualGPU) -> None:
    made = multiply(matmul, [*POINTERS, "i32:16", "i32:16"], (128, 64, 64), num_warps=8)
    assert "wgmma.mma_async" in made.ptx


def test_matmul_through_tensor_descriptors(either: gs.VirtualGPU) -> None:
    types = [*(p.replace("k", "") for p in POINTERS), *["i32:16"] * 3]
    made = multiply(matmul_by_descriptors, types, (64, 64, 64), constants={"ROLES": False})
    assert "cp.async.bulk.tensor" in made.ptx
    assert "wgmma.mma_async" in made.ptx


def test_matmul_with_warps_of_different_roles(either: gs.VirtualGPU) -> None:
    types = [*(p.replace("k", "") for p in POINTERS), *["i32:16"] * 3]
    made = multiply(matmul_by_descriptors, types, (64, 64, 64), constants={"ROLES": True})
    assert "setmaxnreg" in made.ptx
    assert "wgmma.mma_async" in made.ptx


@triton.jit
def matmul_by_given_descriptors(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([m, k]), b.load([n, k]).T, total)
    c.store([m, n], total)


def descriptors(n: int = 64) -> gs.Module:
    types = [f"tensordesc<fp16[64, {n}]>", f"tensordesc<fp16[64, {n}]>", "tensordesc<fp32[64, 64]>", "i32"]
    return gs.triton(matmul_by_given_descriptors, signature=types, constants={"BM": 64, "BN": 64, "BK": n})


@pytest.mark.parametrize("step", [32, 64, 128])
def test_matmul_through_descriptors_that_the_host_makes(either: gs.VirtualGPU, step: int) -> None:
    """A launch is given device arrays; blocks wider than a swizzle pattern come in several copies."""
    a, b = (RNG.standard_normal((128, 256)).astype(np.float16) for _ in range(2))
    c = gs.to_device(np.zeros((128, 128), np.float32))
    made = descriptors(step)
    made["matmul_by_given_descriptors"][2, 2](gs.to_device(a), gs.to_device(b), c, 256)
    assert abs(c.numpy() - a.astype(np.float64) @ b.astype(np.float64).T).max() < 1e-4
    assert "wgmma.mma_async" in made.ptx


def test_what_is_no_array_of_a_descriptor_is_refused(either: gs.VirtualGPU) -> None:
    kernel = descriptors()["matmul_by_given_descriptors"]
    a, c = np.zeros((128, 256), np.float16), gs.to_device(np.zeros((128, 128), np.float32))
    with pytest.raises(gs.LaunchError, match="give the array itself, on the device"):
        kernel[2, 2](a, a, c, 256)
    with pytest.raises(gs.LaunchError, match=r"a is a tensordesc<fp16\[64, 64\]>, not float32"):
        kernel[2, 2](c, gs.to_device(a), c, 256)


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, out_ptr, keys, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """One block of BM queries; q, k, v and out lie as (keys, D)."""
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, keys, BN):
        n = start + tl.arange(0, BN)
        k = tl.load(k_ptr + n[None, :] * D + d[:, None])
        v = tl.load(v_ptr + n[:, None] * D + d[None, :])
        scores = tl.dot(q, k) * scale
        new_top = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - new_top[:, None])
        shrink = tl.exp(top - new_top)
        weight = weight * shrink + tl.sum(p, 1)
        total = tl.dot(p.to(v.dtype), v, total * shrink[:, None])
        top = new_top
    tl.store(out_ptr + m[:, None] * D + d[None, :], total / weight[:, None])


def test_attention(either: gs.VirtualGPU) -> None:
    """Scores come out of one wgmma and go, as A in registers, into the next."""
    keys, D = 256, 64
    made = gs.triton(
        attention, signature=["*kfp16:16"] * 3 + ["*fp32:16", "i32:16", "fp32"], constants={"BM": 64, "BN": 64, "D": D}
    )
    assert "wgmma.mma_async" in made.ptx
    q, k, v = (RNG.standard_normal((keys, D)).astype(np.float16) for _ in range(3))
    out = np.zeros((keys, D), np.float32)
    made["attention"][keys // 64](q, k, v, out, keys, D**-0.5)
    scores = q.astype(np.float64) @ k.astype(np.float64).T * D**-0.5
    p = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(out, (p / p.sum(1, keepdims=True)) @ v.astype(np.float64), atol=2e-3)
