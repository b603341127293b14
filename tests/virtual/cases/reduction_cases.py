"""Reductions, norms, scans, sorts and histograms as libraries write them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from suite import Case, Twin, compiled, text_of

import gridstride as gs


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# -- one row at a time ------------------------------------------------------------------------------------------------
def run_softmax(text: str) -> np.ndarray:
    x, y = 5 * normal(5, 1000), np.zeros((5, 1000), np.float32)
    compiled(text)["softmax"][5, 128](x.reshape(-1, 4), y.reshape(-1, 4), 250)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=2e-5, atol=1e-9)
    return y


def run_norms(text: str) -> np.ndarray:
    x, gain, shift, y = normal(4, 777) + 3, normal(777, seed=1), normal(777, seed=2), np.zeros((4, 777), np.float32)
    module = compiled(text)
    module["layer_norm"][4, 96](x, gain, shift, y, 777)
    mean, variance = x.astype(np.float64).mean(1, keepdims=True), x.astype(np.float64).var(1, keepdims=True)
    np.testing.assert_allclose(y, (x - mean) / np.sqrt(variance + 1e-5) * gain + shift, rtol=1e-4, atol=1e-5)
    h, g = normal(4, 800).astype(np.float16), normal(800, seed=3).astype(np.float16)
    out = np.zeros_like(h)
    words = [a.view(np.uint32).reshape(-1, 4) for a in (h, g, out)]
    module["rms_norm"][4, 128](*words, 100)
    wide = h.astype(np.float64)
    want = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * g
    np.testing.assert_allclose(out, want, rtol=2e-3, atol=1e-6)
    return y


def run_top_k(text: str) -> np.ndarray:
    """Rows with repeated values: of equals the first counts."""
    x = np.random.default_rng(0).integers(0, 500, (6, 1003)).astype(np.float32)
    values, indices = np.zeros((6, 20), np.float32), np.zeros((6, 20), np.int32)
    compiled(text)["top_k"][2, 96](x, values, indices, 6, 1003, 20)
    order = np.argsort(-x, axis=1, kind="stable")[:, :20]
    assert (indices == order).all()
    assert (values == np.take_along_axis(x, order, 1)).all()
    return indices


def run_four_bits(text: str) -> np.ndarray:
    rows, n = 8, 512
    w, x = normal(rows, n), normal(n, seed=1).astype(np.float16)
    packed, scales = np.zeros((rows, n // 8), np.uint32), np.zeros((rows, n // 32), np.float16)
    y = np.zeros(rows, np.float32)
    module = compiled(text)
    module["quantise"][rows * n // 128, 128](w, packed, scales)
    want_scales = (abs(w.reshape(rows, -1, 32)).max(2) / np.float32(7)).astype(np.float16)
    assert (scales == want_scales).all()
    numbers = (packed[..., None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15).reshape(rows, n).astype(np.int64) - 8
    wide = np.repeat(scales.astype(np.float32), 32, 1)
    assert (abs(numbers - w / wide) <= 0.501).all()
    module["multiply"][rows // 4, 128](packed, scales, x, y, n)
    np.testing.assert_allclose(y, (numbers * wide.astype(np.float64)) @ x.astype(np.float64), rtol=2e-2, atol=0.1)
    return packed


def run_pairs(text: str) -> np.ndarray:
    a, c = normal(600).astype(np.float16), normal(600, seed=1).astype(ml_dtypes.bfloat16)
    b, d = np.zeros_like(a), np.zeros_like(c)
    compiled(text)["swishes"][3, 128](*(x.reshape(-1, 2) for x in (a, b, c, d)), 300)
    for x, y, eps in ((a, b, 2e-3), (c, d, 2e-2)):
        wide = x.astype(np.float64)
        np.testing.assert_allclose(y.astype(np.float64), wide / (1 + np.exp(-wide)), rtol=2 * eps, atol=eps)
    return b


# -- sorts, scans, counts ---------------------------------------------------------------------------------------------
def run_sort(text: str) -> np.ndarray:
    """Four passes of a byte each, keys with their places: a stable sort."""
    n, tiles = 5000, -(-5000 // 512)
    keys = np.random.default_rng(0).integers(0, 1 << 32, n, dtype=np.uint64).astype(np.uint32)
    keys[::3] &= 0xFF00  # many equal ones
    module = compiled(text)
    counts = gs.to_device(np.zeros((4, 256), np.uint32))
    source = [gs.to_device(keys), gs.to_device(np.arange(n, dtype=np.uint32))]
    target = [gs.empty(n, np.uint32), gs.empty(n, np.uint32)]
    module["digit_counts"][4, 128](source[0], n, counts)
    module["digit_starts"][4, 256](counts)
    starts = counts.numpy()
    for digit in range(4):
        fresh = np.zeros((tiles, 256), np.uint32), np.zeros(1, np.int32)
        module["onesweep"][tiles, 128](*source, *target, n, 8 * digit, starts[digit].copy(), *fresh)
        source, target = target, source
    order = np.argsort(keys, kind="stable")
    assert (source[0].numpy() == keys[order]).all()
    assert (source[1].numpy() == order).all()
    return source[1].numpy()


def run_segmented(text: str) -> np.ndarray:
    n = 1500
    rng = np.random.default_rng(0)
    x, heads = rng.integers(-50, 50, n).astype(np.int32), (rng.random(n) < 0.02).astype(np.uint8)
    y = np.zeros(n, np.int32)
    compiled(text)["segmented"][1, 128](x, heads, y, n)
    total = np.cumsum(x)
    start = np.maximum.accumulate(np.where(heads, np.arange(n), 0))
    assert (y == total - np.where(start > 0, total[start - 1], 0)).all()
    return y


def run_bytes(text: str) -> np.ndarray:
    x = np.minimum(np.random.default_rng(0).integers(0, 300, 8000), 255).astype(np.uint8)
    bins = np.zeros(256, np.uint32)
    compiled(text)["bytes_counted"][3, 128](x.reshape(-1, 4), 2000, bins)
    assert (bins == np.bincount(x, minlength=256)).all()
    return bins


# -- groups -----------------------------------------------------------------------------------------------------------
def run_normalised(text: str) -> np.ndarray:
    x, y = np.random.default_rng(0).random(3000, np.float32), np.zeros(3000, np.float32)
    compiled(text)["normalised"].launch(grid=4, block=128, args=(x, y, np.zeros(4, np.float32), 3000), cooperative=True)
    np.testing.assert_allclose(y, x / x.sum(dtype=np.float64), rtol=1e-5)
    return y


def run_squares(text: str) -> np.ndarray:
    x = normal(2, 7, 256)
    y = np.zeros_like(x)
    compiled(text)["squares"][2, 64](x, y, 7)
    assert (y == x[:, :, ::-1] ** 2).all()
    return y


def run_scan(text: str) -> np.ndarray:
    n = 70 * 128 - 5
    x, y = np.random.default_rng(0).integers(-9, 99, n).astype(np.int32), np.zeros(n, np.int32)
    compiled(text)["scan"][70, 128](x, y, np.zeros(70, np.uint64), np.zeros(1, np.int32), n)
    assert (y == np.cumsum(x)).all()
    return y


def run_centred(text: str) -> np.ndarray:
    x, y = normal(2, 2000), np.zeros((2, 2000), np.float32)
    compiled(text)["centred"][8, 128](x, y, 2000)
    np.testing.assert_allclose(y, x - x.astype(np.float64).mean(1, keepdims=True), atol=1e-5)
    return y


ROWS, SCANS, GROUPS = text_of("rows.cu"), text_of("scans.cu"), text_of("groups.cu")
BARRIER = "    __syncthreads();\n"
CASES = [
    Case("softmax", ROWS, run_softmax, (
        Twin("no barrier after the parts", f"part[warp] = v;\n{BARRIER}", "part[warp] = v;\n"),
    ), exact=False),
    Case("norms", ROWS, run_norms, (
        Twin("no barrier after the moments", f"= m;\n{BARRIER}", "= m;\n"),
    ), exact=False),
    Case("top-k", ROWS, run_top_k),
    Case("four-bits", ROWS, run_four_bits),
    Case("pairs", ROWS, run_pairs, exact=False),
    Case("onesweep", SCANS, run_sort, (
        Twin("ranks read before all warps have counted", f"popc(before);\n    }}\n{BARRIER}", "popc(before);\n    }\n"),
        Twin("bases read before they are there", f"+ sum;\n    }}\n{BARRIER}", "+ sum;\n    }\n"),
        Twin("counts without atomics",
             "atomicAdd(&own[d][keys[i] >> 8 * d & 255], 1)", "++own[d][keys[i] >> 8 * d & 255]"),
    )),
    Case("segmented", SCANS, run_segmented, (
        Twin("sums overwritten while they are read", f"carry + sums[w];\n    {BARRIER}", "carry + sums[w];\n"),
    )),
    Case("bytes", SCANS, run_bytes, (
        Twin("bins added before they are cleared",
             f"own[i] = 0;\n{BARRIER}    int rounds", "own[i] = 0;\n    int rounds"),
    )),
    Case("grid", GROUPS, run_normalised, (Twin("the grid does not meet", "    grid.sync();\n", ""),), exact=False),
    Case("two-buffers", GROUPS, run_squares, (
        Twin("the copy is not waited for",
             "arrived[i % 2].arrive_and_wait();", "", ("unwaited_copy", "mbarrier", "race")),
        Twin("the buffer is filled again too soon",
             "block.sync();  // the buffer", "// the buffer", ("race", "unwaited_copy")),
    )),
    Case("look-back", GROUPS, run_scan, (
        Twin("sums read before all warps have written",
             "= v;\n    __syncthreads();\n    if (t < 32)", "= v;\n    if (t < 32)"),
    )),
    Case("cluster", GROUPS, run_centred, (
        Twin("parts read before the blocks have met",
             "    cluster.sync();\n    float total", "    float total", ("race", "unstarted_block")),
        Twin("blocks end while others read", "/ n;\n    cluster.sync();", "/ n;", ("exited_block",)),
    ), exact=False),
]  # fmt: skip
