"""Attention as fast libraries write it: forward by mma.sync and by wgmma, backward, decoding over a paged cache."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from suite import Case, Twin, compiled, text_of

import gridstride as gs


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, causal: bool) -> tuple[np.ndarray, ...]:
    """Result, log of the sums and weights in float64; (heads, queries, d) and (heads, keys, d)."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.swapaxes(1, 2) * scale
    if causal:
        scores = np.where(np.tri(*scores.shape[1:]) > 0, scores, -np.inf)
    top = scores.max(2, keepdims=True)
    sums = np.exp(scores - top).sum(2, keepdims=True)
    lse = top + np.log(sums)
    p = np.exp(scores - lse)
    return p @ v, lse[..., 0], p


def tokens(heads: int, length: int, d: int, dtype: type = np.float16, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((heads, length, d)).astype(dtype)


def run_mma(length: int, causal: int) -> Callable[[str], np.ndarray]:
    def run(text: str) -> np.ndarray:
        q, k, v = (tokens(2, length, 64, seed=seed) for seed in range(3))
        o, lse = np.zeros_like(q), np.zeros((2, length), np.float32)
        compiled(text)["attention"][(-(-length // 64), 2), 128](q, k, v, o, lse, length, 0.125, causal)
        want, want_lse, _ = attend(q, k, v, 0.125, bool(causal))
        np.testing.assert_allclose(o, want, atol=3e-3)
        np.testing.assert_allclose(lse, want_lse, atol=1e-4)
        return o

    return run


def run_wgmma(text: str) -> np.ndarray:
    length = 200
    given = [tokens(2, length, 64, seed=seed) for seed in range(3)]
    o = gs.to_device(np.zeros_like(given[0]))
    maps = [gs.tensor_map(x, (1, rows, 64), swizzle=128)
            for x, rows in zip((*map(gs.to_device, given), o), (128, 64, 64, 64), strict=True)]  # fmt: skip
    compiled(text)["attention"][(2, 2), 384, 128 * 128 + 4 * 64 * 128 + 128](*maps, length, 0.125)
    q, k, v = given
    want, _, _ = attend(q, k, v, 0.125, False)
    np.testing.assert_allclose(o.numpy(), want, atol=3e-3)
    return o.numpy()


def run_backward(text: str) -> np.ndarray:
    heads, length, d, scale = 2, 75, 32, 32**-0.5
    q, k, v, d_o = (tokens(heads, length, d, np.float32, seed) for seed in range(4))
    want, lse, p = attend(q, k, v, scale, True)
    module = compiled(text)
    delta = np.zeros((heads, length), np.float32)
    module["row_products"][-(-heads * length // 4), 128](want.astype(np.float32), d_o, delta, heads * length)
    np.testing.assert_allclose(delta, (want * d_o).sum(2), atol=1e-4)
    dq, dk, dv = (np.zeros_like(q) for _ in range(3))
    given = (q, k, v, d_o, lse.astype(np.float32), delta, dq, dk, dv, length, scale)
    module["backward"][(-(-length // 32), heads), (32, 8)](*given)
    ds = p * (d_o.astype(np.float64) @ v.swapaxes(1, 2) - (want * d_o).sum(2, keepdims=True)) * scale
    for got, expected in ((dv, p.swapaxes(1, 2) @ d_o), (dk, ds.swapaxes(1, 2) @ q), (dq, ds @ k)):
        np.testing.assert_allclose(got, expected, atol=1e-4)
    return np.stack([dq, dk, dv])


def run_decode(text: str) -> np.ndarray:
    """Three sequences of 1 to 300 keys in shuffled pages, three splits: some have nothing to do."""
    heads, d, splits, scale, lengths = 2, 32, 3, 32**-0.5, np.array([300, 77, 1], np.int32)
    rng = np.random.default_rng(0)
    pages = -(-lengths // 16)
    table, free = np.full((3, pages.max()), -1, np.int32), rng.permutation(pages.sum()).astype(np.int32)
    for s, (n, end) in enumerate(zip(pages, pages.cumsum(), strict=True)):
        table[s, :n] = free[end - n : end]
    cache = rng.standard_normal((2, pages.sum(), 16, heads, d)).astype(np.float32)
    q, o = rng.standard_normal((3, heads, d)).astype(np.float32), np.zeros((3, heads, d), np.float32)
    part, stats = gs.empty((3, heads, splits, d), np.float32), gs.empty((3, heads, splits, 2), np.float32)
    module = compiled(text)
    module["decode"][(3, heads, splits), 128](
        q, cache[0], cache[1], table, lengths, part, stats, heads, int(pages.max()), scale
    )
    module["combine"][3 * heads, 32](part, stats, o, splits)
    for s, length in enumerate(lengths):
        k, v = cache[:, table[s, : pages[s]]].reshape(2, -1, heads, d)[:, :length].swapaxes(1, 2)
        want, _, _ = attend(q[s][:, None], k, v, scale, False)
        np.testing.assert_allclose(o[s], want[:, 0], atol=1e-5)
    return o


MMA_TWINS = (
    Twin("one group too many is left in flight", "cp.async.wait_group 1;", "cp.async.wait_group 2;",
         ("unwaited_copy", "race")),
    Twin("no barrier after the wait", "        __syncthreads();\n        if (step == 0)", "        if (step == 0)",
         ("race", "unwaited_copy")),
    Twin("no barrier before the stage is filled again", "__syncthreads();  // before", "// before",
         ("race", "unwaited_copy")),
)  # fmt: skip
WGMMA_TWINS = (
    Twin("values given back before they are read", "wgmma_wait<0>();\n        if (t == 0) arrive(&s.v_empty",
         "if (t == 0) arrive(&s.v_empty", ("wgmma_operand", "wgmma_register")),
    Twin("values not waited for", "wait_for(&s.v_full[stage], parity);", "",
         ("race", "wgmma_operand", "unwaited_copy", "mbarrier")),
    Twin("no proxy fence before the result leaves", "proxy_fence();\n    meet", "meet", ("proxy_fence",)),
    Twin("a turn is never handed on", "if (i + 1 < steps || me == 0) asm", "if (i + 1 < steps && me == 0) asm",
         ("deadlock",)),
)  # fmt: skip
PLAIN_TWINS = (
    Twin("queries replaced while they are read", "        __syncthreads();\n        #pragma", "        #pragma"),
    Twin("gradients added without atomics", "atomicAdd(&dq[(head + start + r) * D + x], sum)",
         "dq[(head + start + r) * D + x] += sum"),
)  # fmt: skip
DECODE_TWINS = (
    Twin("sums read before the block has met", "    __syncthreads();\n    if (warp != 0) return;",
         "    if (warp != 0) return;"),
)  # fmt: skip

MMA, PLAIN = text_of("attention_mma.cu"), text_of("attention_plain.cu")
CASES = [
    Case("mma", MMA, run_mma(150, 0), MMA_TWINS, exact=False),
    Case("mma-causal", MMA, run_mma(97, 1), exact=False),
    Case("wgmma", text_of("attention_wgmma.cu"), run_wgmma, WGMMA_TWINS, exact=False),
    Case("backward", PLAIN, run_backward, PLAIN_TWINS, exact=False),
    Case("paged-decode", PLAIN, run_decode, DECODE_TWINS, exact=False),
]
