"""Triton kernels as its tutorials teach them, written anew, against NumPy in both builds.

Those of the other Triton tests (addition, softmax of a row, matmul, attention forward) are not repeated here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gridstride as gs

triton = pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.5'")
import triton.language as tl  # noqa: E402
from triton.language.extra import libdevice  # noqa: E402


@pytest.fixture(params=["fast", "observed", pytest.param("physical", marks=pytest.mark.gpu)])
def machine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The two builds of the virtual GPU, and the physical one."""
    kind = request.param
    made = "physical" if kind == "physical" else gs.VirtualGPU(workers=2, time_limit=60, sanitize=kind == "observed")
    with gs.use(made):
        yield kind


def normal(*shape: int, seed: int = 0, dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@triton.jit
def persistent_softmax(x_ptr, y_ptr, rows, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        x = tl.load(x_ptr + row * columns + i, mask=i < columns, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(y_ptr + row * columns + i, e / tl.sum(e, axis=0), mask=i < columns)


def test_softmax_of_many_rows_by_few_programs(machine: str) -> None:
    kernel = gs.triton(persistent_softmax, signature="*fp32, *fp32, i32, i32", constants={"BLOCK": 256})
    x, y = 5 * normal(11, 200), np.zeros((11, 200), np.float32)
    kernel["persistent_softmax"][3](x, y, 11, 200)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=2e-5)


@triton.jit
def layer_norm(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, scale_ptr, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=0)
    mean = tl.sum(x, 0) / n
    apart = tl.where(i < n, x - mean, 0)
    scale = tl.rsqrt(tl.sum(apart * apart, 0) / n + 1e-5)
    tl.store(mean_ptr + row, mean)
    tl.store(scale_ptr + row, scale)
    w, b = tl.load(w_ptr + i, mask=i < n), tl.load(b_ptr + i, mask=i < n)
    tl.store(y_ptr + row * n + i, apart * scale * w + b, mask=i < n)


@triton.jit
def layer_norm_backward(
    x_ptr, dy_ptr, w_ptr, mean_ptr, scale_ptr, dx_ptr, dw_ptr, db_ptr, lock_ptr, n, GROUPS: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Parts of dw and db are added up in GROUPS rows, each behind a lock."""
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    inside = i < n
    x, dy = tl.load(x_ptr + row * n + i, mask=inside, other=0), tl.load(dy_ptr + row * n + i, mask=inside, other=0)
    w = tl.load(w_ptr + i, mask=inside, other=0)
    scale = tl.load(scale_ptr + row)
    xhat = tl.where(inside, (x - tl.load(mean_ptr + row)) * scale, 0)
    wdy = w * dy
    dx = (wdy - xhat * (tl.sum(xhat * wdy, 0) / n) - tl.sum(wdy, 0) / n) * scale
    tl.store(dx_ptr + row * n + i, dx, mask=inside)
    lock, count = lock_ptr + row % GROUPS, lock_ptr + GROUPS + row % GROUPS
    dw, db = dy * xhat, dy
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    at = row % GROUPS * n + i
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        dw += tl.load(dw_ptr + at, mask=inside)
        db += tl.load(db_ptr + at, mask=inside)
    tl.store(dw_ptr + at, dw, mask=inside)
    tl.store(db_ptr + at, db, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def test_layer_norm_forward_and_backward(machine: str) -> None:
    rows, n, groups = 13, 100, 4
    x, dy, w, b = normal(rows, n), normal(rows, n, seed=1), normal(n, seed=2), normal(n, seed=3)
    y, dx, mean, scale = np.zeros_like(x), np.zeros_like(x), np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    forward = gs.triton(layer_norm, signature=["*fp32"] * 6 + ["i32"], constants={"BLOCK": 128})["layer_norm"]
    forward[rows](x, y, w, b, mean, scale, n)
    wide = x.astype(np.float64)
    hat = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y, hat * w + b, atol=1e-4)
    signature = ["*fp32"] * 8 + ["*i32", "i32"]
    backward = gs.triton(layer_norm_backward, signature=signature, constants={"GROUPS": groups, "BLOCK": 128})
    dw, db = np.zeros((2, groups, n), np.float32)
    backward["layer_norm_backward"][rows](x, dy, w, mean, scale, dx, dw, db, np.zeros(2 * groups, np.int32), n)
    wdy = dy * w
    c1, c2 = (hat * wdy).mean(1, keepdims=True), wdy.mean(1, keepdims=True)
    np.testing.assert_allclose(dx, (wdy - hat * c1 - c2) / np.sqrt(wide.var(1, keepdims=True) + 1e-5), atol=1e-4)
    np.testing.assert_allclose(dw.sum(0), (dy * hat).sum(0), atol=1e-4)
    np.testing.assert_allclose(db.sum(0), dy.sum(0), atol=1e-4)


@triton.jit
def dropout(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, i) > p
    tl.store(y_ptr + i, tl.where(kept, tl.load(x_ptr + i, mask=i < n) / (1 - p), 0.0), mask=i < n)


def philox(seed: int, n: int) -> np.ndarray:
    """Philox 4x32, ten rounds, the first word for each counter (i, 0, 0, 0); Salmon and others, 2011."""
    c = [np.arange(n, dtype=np.uint64), *(np.zeros(n, np.uint64) for _ in range(3))]
    k0, k1, low = seed & 0xFFFFFFFF, seed >> 32, np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> 32) ^ c[1] ^ np.uint64(k0), b & low, (a >> 32) ^ c[3] ^ np.uint64(k1), a & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c[0].astype(np.uint32)


def test_dropout_by_a_counted_generator(machine: str) -> None:
    kernel = gs.triton(dropout, signature="*fp32, *fp32, i32, fp32, i32", constants={"BLOCK": 256})["dropout"]
    x, y = normal(1000) + 5, np.zeros(1000, np.float32)
    kernel[4](x, y, 1000, 0.25, 123)
    bits = philox(123, 1000).view(np.int32).astype(np.int64)
    uniform = np.where(bits < 0, -bits - 1, bits).astype(np.float32) * np.float32(4.6566127342e-10)
    kept = uniform > np.float32(0.25)
    assert ((y != 0) == kept).all()
    np.testing.assert_allclose(y[kept], x[kept] / 0.75, rtol=1e-6)


@triton.jit
def mathematics(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, libdevice.asin(x) + libdevice.tgamma(x + 2) + libdevice.pow(x + 2, 1.5) + tl.erf(x), mask=i < n)


def test_functions_of_the_device_library(machine: str) -> None:
    import math

    kernel = gs.triton(mathematics, signature="*fp32, *fp32, i32", constants={"BLOCK": 128})["mathematics"]
    x, y = np.linspace(-0.9, 0.9, 200, dtype=np.float32), np.zeros(200, np.float32)
    kernel[2](x, y, 200)
    want = [math.asin(v) + math.gamma(v + 2) + (v + 2) ** 1.5 + math.erf(v) for v in x.astype(float)]
    np.testing.assert_allclose(y, want, rtol=2e-6)


@triton.jit
def _weighted(a, wa, b, wb):
    return a * wb + b, wa * wb


@triton.jit
def scans(x_ptr, w_ptr, sorted_ptr, scanned_ptr, bins_ptr, order_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(sorted_ptr + i, tl.sort(x, descending=True))
    values, _ = tl.associative_scan((x.to(tl.float32), tl.load(w_ptr + i)), 0, _weighted)
    tl.store(scanned_ptr + i, values)
    tl.store(bins_ptr + tl.arange(0, 16), tl.histogram(x, 16))
    tl.store(order_ptr, tl.argmax(x, 0))
    tl.store(order_ptr + 1, tl.argmin(x, 0))
    tl.store(order_ptr + 2, tl.xor_sum(x, 0))


def test_sorts_scans_histograms_and_searches(machine: str) -> None:
    signature = "*i32, *fp32, *i32, *fp32, *i32, *i32"
    kernel = gs.triton(scans, signature=signature, constants={"N": 256})["scans"]
    x = np.random.default_rng(0).integers(0, 16, 256).astype(np.int32)
    w = np.random.default_rng(1).random(256, np.float32)
    ordered, scanned, bins, order = (np.zeros(n, t) for n, t in ((256, "i4"), (256, "f4"), (16, "i4"), (3, "i4")))
    kernel[1](x, w, ordered, scanned, bins, order)
    assert (ordered == np.sort(x)[::-1]).all()
    assert (bins == np.bincount(x, minlength=16)).all()
    assert list(order) == [x.argmax(), x.argmin(), np.bitwise_xor.reduce(x)]
    want, total = [], 0.0
    for value, weight in zip(x, w, strict=True):
        total = total * float(weight) + int(value)
        want.append(total)
    np.testing.assert_allclose(scanned, want, rtol=1e-5)


@triton.jit
def by_hand(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    y = tl.inline_asm_elementwise(
        "{ .reg .b32 t; prmt.b32 t, $1, 0, 0x0123; popc.b32 t, t; add.u32 $0, t, $1; }", "=r,r",
        [tl.load(x_ptr + i)], dtype=tl.int32, is_pure=True, pack=1,
    )  # fmt: skip
    tl.store(y_ptr + i, y)


def test_assembly_in_the_middle_of_a_kernel(machine: str) -> None:
    kernel = gs.triton(by_hand, signature="*i32, *i32", constants={"BLOCK": 128})["by_hand"]
    x, y = np.random.default_rng(0).integers(0, 1 << 30, 128).astype(np.int32), np.zeros(128, np.int32)
    kernel[1](x, y)
    assert (y == x + [int(v).bit_count() for v in x]).all()


@triton.jit
def grouped(pointers, sizes, count, PROGRAMS: tl.constexpr, B: tl.constexpr):
    """Products of different sizes in one launch: addresses and sizes are read from memory, tiles dealt in turn."""
    tile, first = tl.program_id(0), 0
    for g in range(count):
        M, N, K = tl.load(sizes + 3 * g), tl.load(sizes + 3 * g + 1), tl.load(sizes + 3 * g + 2)
        a_ptr = tl.load(pointers + 3 * g).to(tl.pointer_type(tl.float16))
        b_ptr = tl.load(pointers + 3 * g + 1).to(tl.pointer_type(tl.float16))
        c_ptr = tl.load(pointers + 3 * g + 2).to(tl.pointer_type(tl.float32))
        columns = tl.cdiv(N, B)
        tiles = tl.cdiv(M, B) * columns
        while tile < first + tiles:
            m = (tile - first) // columns * B + tl.arange(0, B)
            n = (tile - first) % columns * B + tl.arange(0, B)
            total = tl.zeros((B, B), tl.float32)
            for start in range(0, K, B):
                k = start + tl.arange(0, B)
                a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0)
                b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0)
                total = tl.dot(a, b, total)
            tl.store(c_ptr + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))
            tile += PROGRAMS
        first += tiles


def test_products_of_several_sizes_in_one_launch(machine: str) -> None:
    made = gs.triton(grouped, signature="*i64, *i32, i32", constants={"PROGRAMS": 3, "B": 32})["grouped"]
    sizes = [(64, 40, 50), (33, 32, 96), (10, 100, 20)]
    given = [(normal(m, k, dtype=np.float16), normal(k, n, seed=1, dtype=np.float16)) for m, n, k in sizes]
    arrays = [[gs.to_device(a), gs.to_device(b), gs.to_device(np.zeros((len(a), b.shape[1]), np.float32))]
              for a, b in given]  # fmt: skip
    addresses = np.array([[x.address for x in group] for group in arrays], np.int64)
    made[3](addresses, np.array(sizes, np.int32), len(sizes))
    for (a, b), (_, _, c) in zip(given, arrays, strict=True):
        np.testing.assert_allclose(c.numpy(), a.astype(np.float64) @ b.astype(np.float64), atol=1e-3)


@triton.jit
def persistent_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    """C = A · Bᵀ through tensor descriptors; tiles in groups of rows, for the cache's sake; f16 out."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), rows * columns, PROGRAMS, flatten=True):
        group = tile // (GROUP * columns)
        high = min(rows - group * GROUP, GROUP)
        m = (group * GROUP + tile % (GROUP * columns) % high) * BM
        n = tile % (GROUP * columns) // high * BN
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            total = tl.dot(a.load([m, k]), b.load([n, k]).T, total)
        c.store([m, n], total.to(tl.float16))


def test_a_persistent_matmul_through_descriptors(machine: str) -> None:
    constants = {"PROGRAMS": 3, "BM": 64, "BN": 32, "BK": 64, "GROUP": 2}
    signature = ["*fp16:16"] * 3 + ["i32", "i32:16", "i32:16"]
    made = gs.triton(persistent_matmul, signature=signature, constants=constants)
    assert "wgmma.mma_async" in made.ptx
    assert "cp.async.bulk.tensor" in made.ptx
    a, b = normal(150, 208, dtype=np.float16), normal(80, 208, seed=1, dtype=np.float16)
    c = np.zeros((150, 80), np.float16)
    made["persistent_matmul"][3](a, b, c, 150, 80, 208)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, rtol=2e-3, atol=2e-2)


@triton.jit
def attention_backward(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, keys, scale, B: tl.constexpr,
    D: tl.constexpr,
):  # fmt: skip
    """A program has B keys; queries' gradients are added up by atomics."""
    n, d, i = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, D), tl.arange(0, B)
    k, v = tl.load(k_ptr + n[:, None] * D + d[None, :]), tl.load(v_ptr + n[:, None] * D + d[None, :])
    dk, dv = tl.zeros((B, D), tl.float32), tl.zeros((B, D), tl.float32)
    for start in range(tl.program_id(0) * B, keys, B):
        m = start + i
        q, do = tl.load(q_ptr + m[:, None] * D + d[None, :]), tl.load(do_ptr + m[:, None] * D + d[None, :])
        p = tl.exp(tl.dot(q, tl.trans(k)) * scale - tl.load(lse_ptr + m)[:, None])
        p = tl.where(n[None, :] <= m[:, None], p, 0)
        dv = tl.dot(tl.trans(p.to(do.dtype)), do, dv)
        ds = (p * (tl.dot(do, tl.trans(v)) - tl.load(delta_ptr + m)[:, None]) * scale).to(q.dtype)
        dk = tl.dot(tl.trans(ds), q, dk)
        tl.atomic_add(dq_ptr + m[:, None] * D + d[None, :], tl.dot(ds, k))
    tl.store(dk_ptr + n[:, None] * D + d[None, :], dk)
    tl.store(dv_ptr + n[:, None] * D + d[None, :], dv)


def test_attention_backward(machine: str) -> None:
    keys, D, scale = 96, 32, 32**-0.5
    q, k, v, do = (normal(keys, D, seed=seed, dtype=np.float16) for seed in range(4))
    wide = [x.astype(np.float64) for x in (q, k, v, do)]
    scores = np.where(np.tri(keys, dtype=bool), wide[0] @ wide[1].T * scale, -np.inf)
    lse = np.log(np.exp(scores).sum(1))
    p = np.exp(scores - lse[:, None])
    delta = (p @ wide[2] * wide[3]).sum(1)
    dq, dk, dv = (np.zeros((keys, D), np.float32) for _ in range(3))
    signature = ["*fp16"] * 4 + ["*fp32"] * 5 + ["i32", "fp32"]
    made = gs.triton(attention_backward, signature=signature, constants={"B": 32, "D": D})["attention_backward"]
    made[keys // 32](q, k, v, do, lse.astype(np.float32), delta.astype(np.float32), dq, dk, dv, keys, scale)
    ds = p * (wide[3] @ wide[2].T - delta[:, None]) * scale
    for got, want in ((dv, p.T @ wide[3]), (dk, ds.T @ wide[0]), (dq, ds @ wide[1])):
        np.testing.assert_allclose(got, want, atol=2e-2)
