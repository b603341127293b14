"""Triton kernels on the virtual GPU, each against NumPy, with the sanitizer on where that is quick enough."""

from __future__ import annotations

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


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) + tl.load(y_ptr + i, mask=i < n), mask=i < n)


@pytest.mark.parametrize("n", [1, 127, 1024, 5000])
@pytest.mark.parametrize("hint", ["", ":16"])
def test_add(either: gs.VirtualGPU, n: int, hint: str) -> None:
    pointer = f"*fp32{hint}"
    kernel = gs.triton(add, signature=[pointer, pointer, pointer, "i32"], constants={"BLOCK": 256})["add"]
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
    kernel = gs.triton(softmax, signature=signature, constants={"BLOCK": 1024}, num_warps=num_warps)["softmax"]
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
    kernel = gs.triton(matmul, signature=types, constants=constants, **how)["matmul"]
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
    constants = {"CAUSAL": causal, "BM": 32, "BN": 32, "D": D}
    kernel = gs.triton(attention, signature=types, constants=constants)["attention"]
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
    kernel = gs.triton(histogram, signature=["*i32", "*i32", "i32"], constants={"BLOCK": 128})["histogram"]
    x, bins = RNG.integers(0, 10, 1000).astype(np.int32), np.zeros(10, np.int32)
    kernel[8](x, bins, 1000)
    assert (bins == np.bincount(x, minlength=10)).all()


@triton.jit
def running_sum(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.cumsum(tl.load(x_ptr + i).to(tl.int64), 0))


def test_scan_over_warps(either: gs.VirtualGPU) -> None:
    kernel = gs.triton(running_sum, signature=["*i32", "*i64"], constants={"BLOCK": 512})["running_sum"]
    x, out = RNG.integers(-100, 100, 512).astype(np.int32), np.zeros(512, np.int64)
    kernel[1](x, out)
    assert (out == x.cumsum()).all()


@triton.jit
def doubled_by_descriptors(x_ptr, out_ptr, M, N, B: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[B, B])
    out = tl.make_tensor_descriptor(out_ptr, shape=[M, N], strides=[N, 1], block_shape=[B, B])
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    out.store([m, n], x.load([m, n]) * 2)


def test_tensor_maps_made_in_the_scratch_that_triton_asks_for(either: gs.VirtualGPU) -> None:
    made = gs.triton(doubled_by_descriptors, signature="*fp32:16, *fp32:16, i32, i32:16", constants={"B": 16})
    assert made.code(either).scratch
    x, out = RNG.random((50, 64), np.float32), np.zeros((50, 64), np.float32)
    made["doubled_by_descriptors"][4, 4](x, out, 50, 64)
    assert (out == 2 * x).all()


@triton.jit
def locked(lock_ptr, count_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(count_ptr, tl.load(count_ptr) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def test_a_lock_that_programs_wait_for(either: gs.VirtualGPU) -> None:
    kernel = gs.triton(locked, signature=["*i32", "*i32"])["locked"]
    lock, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
    kernel[20](lock, count)
    assert (lock[0], count[0]) == (0, 20)


def adder() -> gs.Kernel:
    return gs.triton(add, signature="*fp32, *fp32, *fp32, i32", constants={"BLOCK": 256})["add"]


@pytest.mark.parametrize(
    "launch",
    [
        lambda kernel, *args: kernel[4](*args),
        lambda kernel, *args: kernel[(4,)](*args, BLOCK=256, num_warps=4),
        lambda kernel, *args: kernel[(4,)](*args, 256),
        lambda kernel, *args: kernel[lambda meta: (1024 // meta["BLOCK"],)](*args[:3], n=args[3]),
        lambda kernel, *args: kernel[(4,), 128](*args),
        lambda kernel, *args: kernel.launch(grid=4, args=args),
        lambda kernel, *args: kernel.launch(grid=4, block=128, args=args),
    ],
)
def test_ways_to_launch(gpu: gs.VirtualGPU, launch) -> None:
    x, y, out = (gs.to_device(RNG.random(1000, np.float32)) for _ in range(3))
    launch(adder(), x, y, out, 1000)
    assert (out.numpy() == x.numpy() + y.numpy()).all()


ARRAY = np.zeros(8, np.float32)


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        (lambda kernel: kernel[1](ARRAY, ARRAY), "no value for out_ptr, n"),
        (lambda kernel: kernel[1](*[ARRAY] * 7), r"takes 4 arguments \(\*fp32 x_ptr, .*\), 7 were given"),
        (lambda kernel: kernel[1](ARRAY, ARRAY, ARRAY, 8, BLOCK=64), "compiled with BLOCK=256, not 64"),
        (lambda kernel: kernel[1](ARRAY, ARRAY, ARRAY, 8, m=3), "no parameter 'm'; it has x_ptr"),
        (lambda kernel: kernel[1](ARRAY, ARRAY, np.zeros(8), 8), r"out_ptr is \*fp32, an array of float64 was given"),
        (lambda kernel: kernel[1](ARRAY, ARRAY, ARRAY, 1.5), "n is i32, 1.5 is a float"),
        (lambda kernel: kernel[(1,), 64](ARRAY, ARRAY, ARRAY, 8), r"block = 64, but a program is 128 threads"),
        (lambda kernel: kernel.launch(grid=1, shared=64, args=()), "shared = 64, but Triton uses 0 bytes"),
    ],
)
def test_what_does_not_fit_is_refused(gpu: gs.VirtualGPU, launch, message: str) -> None:
    with pytest.raises(gs.LaunchError, match=message):
        launch(adder())


def test_a_promise_of_alignment_is_held_to(gpu: gs.VirtualGPU) -> None:
    kernel = gs.triton(add, signature="*fp32, *fp32, *fp32, i32:16", constants={"BLOCK": 256})["add"]
    with pytest.raises(gs.LaunchError, match="n = 100 is no multiple of 16, which ':16' in the signature promises"):
        kernel[1](ARRAY, ARRAY, ARRAY, 100)


def test_observe_counts_by_line_of_python(gpu: gs.VirtualGPU) -> None:
    x = RNG.random(1024, np.float32)
    run = adder().observe(4)(x, x.copy(), np.zeros_like(x), 1024)
    assert run.findings == ()
    assert run.counters.global_sectors == 3 * 1024 * 4 // 32


def test_a_fault_names_the_line_of_python(gpu: gs.VirtualGPU) -> None:
    kernel = gs.triton(add, signature=["*fp32", "*fp32", "*fp32", "i32"], constants={"BLOCK": 256})["add"]
    x = np.zeros(1000, np.float32)
    with pytest.raises(gs.KernelFault, match="out of bounds") as caught:
        kernel[4](x, x.copy(), x.copy(), 1024)
    assert caught.value.file == __file__
    assert caught.value.line == add.def_file_line_number + 2
