"""Attention: each query's mean of the values, weighted by softmax(scale q k) over the keys that it sees.

G query heads share each of the H heads of keys and values; a batch is more heads. Query i sees the keys 0 to i + past:
past = 0 is the causal mask of a whole sequence, K - Q that of its last Q tokens, K or more no mask at all. A query that
sees no key gives zeros. `scale` is any finite number but 0, below zero too: the smallest product counts most then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, scalar, size

WIDTH = 128  # of a head; the op compiles the same kernels for 64, too
LARGE = 100.0  # a score
SCALES = (WIDTH**-0.5, WIDTH**-0.5, 0.05, 0.3, -(WIDTH**-0.5))  # the first is what models use
_PRODUCT = 2.0**-7
"""A score's error in roundings of float16, in proportion to |scale| sum |q k|: 128 roundings of float32, 2^-24 each, at
worst, and the tensor cores cut off where a float32 unit rounds."""
_LEAST = 2.0**-14
"""Weights are halves before the second product: below 2^-14 they are wrong by up to 2^-25, in the same units."""


def reference(v: Values) -> dict[str, Array]:
    """softmax(scale q k) v of every query over the keys that it sees; zeros where there is none."""
    out = np.zeros_like(v["q"])
    for h, g in np.ndindex(out.shape[:2]):
        weights, _, _ = _weights(v, h, g)
        out[h, g] = weights @ v["v"][h]
    return {"out": out}


def magnitude(v: Values) -> dict[str, Array]:
    """The same weights over absolute values; an error of a score is one of its weight, and of the sum of all."""
    out = np.zeros_like(v["q"])
    for h, g in np.ndindex(out.shape[:2]):
        weights, visible, scores = _weights(v, h, g)
        with np.errstate(invalid="ignore"):
            rounding = _PRODUCT * np.where(visible, scores, 0.0)
            weights = weights * (1 + rounding + np.sum(weights * rounding, axis=-1, keepdims=True))
        out[h, g] = (weights + _LEAST * visible) @ abs(v["v"][h])
    return {"out": out}


def _weights(v: Values, h: int, g: int) -> tuple[Array, Array, Array]:
    """Of one head [Q, K]: weights, which keys are seen, and the sums of the absolute products."""
    q, k = v["q"][h, g], v["k"][h]
    visible = np.arange(len(k)) <= np.arange(len(q))[:, None] + int(v["past"])
    with np.errstate(invalid="ignore"):
        scores = np.where(visible, q @ k.T * v["scale"], -np.inf)
        largest = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
        powers = np.exp(scores - np.where(np.isneginf(largest), 0.0, largest))
        total = powers.sum(axis=-1, keepdims=True)
        weights = powers / np.where(total == 0, 1.0, total)
        return weights, visible, abs(q) @ abs(k).T * abs(v["scale"])


def arrange(v: Values) -> dict[str, Any]:
    """Everything is seen, and scores are of the size of 1.

    Where all q and all k are equal, so are the scores: they are 100 then, which e to the power of overflows in float16,
    and the sum of a thousand of them in float32.
    """
    q, k = (v[name].flat[0] if v[name].size else 0.0 for name in ("q", "k"))
    is_uniform = bool(float(q) * float(k) and (v["q"] == q).all() and (v["k"] == k).all())
    scale = LARGE / (WIDTH * float(q) * float(k)) if is_uniform else SCALES[int(abs(v["scale"]) * 1e4) % len(SCALES)]
    return {"past": v["k"].shape[1], "scale": scale}


def _past(v: Values, draw: Generator) -> int:
    """A mask of each sort: none, from the first token on, up to the last, anywhere."""
    queries, keys = v["q"].shape[2], v["k"].shape[1]
    return int(draw.choice([keys, 0, keys - queries, draw.integers(-queries, keys + 1)]))


def causal(v: Values, draw: Generator) -> dict[str, Any]:
    """As many keys before a query as queries: torch's is_causal."""
    return {"past": 0}


def last_tokens(v: Values, draw: Generator) -> dict[str, Any]:
    """The last query sees every key, the first ones of more queries than keys none."""
    return {"past": v["k"].shape[1] - v["q"].shape[2]}


def any_past(v: Values, draw: Generator) -> dict[str, Any]:
    """The mask's edge anywhere, in the middle of a tile too: past every key, and before all of them."""
    queries, keys = v["q"].shape[2], v["k"].shape[1]
    edge = int(draw.integers(-queries - 2, keys + 3))
    return {"past": int(draw.choice([edge, edge, -queries, 1 - queries, -1]))}


def ends_of_past(v: Values, draw: Generator) -> dict[str, Any]:
    """The mask's edge where 32 bits end: its difference to a key, or its sum with a query, is in 64 bits alone."""
    return {"past": int(draw.choice([(1 << 31) - 1, -(1 << 31)]))}


def rising(v: Values, draw: Generator) -> dict[str, Any]:
    """Scores that rise or fall along the keys, by some 20: a running maximum changes with every tile, or never."""
    keys = v["k"].shape[1]
    slope = np.linspace(0.0, 20.0, keys) if draw.random() < 0.7 else np.linspace(20.0, 0.0, keys)
    q, k = v["q"].astype(np.float64), v["k"].astype(np.float64)
    return {"q": 0.3 * q + 1, "k": 0.3 * k + slope[:, None] / WIDTH**0.5, "scale": SCALES[0], "past": _past(v, draw)}


def far_below_zero(v: Values, draw: Generator) -> dict[str, Any]:
    """Scores of some -280, -11,000 or -69,000, all of them: who takes 0, -10,000 or the least half for the largest, or
    does not take it away, divides 0 by 0. Values are positive: scores so large may be wrong by some of a weight, half
    of it at worst, and by nothing else.
    """
    q, k = (0.1 * v[name].astype(np.float64) for name in ("q", "k"))
    changed = {"q": q - 5, "k": k + 5, "v": np.abs(v["v"]) + 1}
    return {**changed, "scale": SCALES[0] * draw.choice([1.0, 40.0, 245.0]).item(), "past": _past(v, draw)}


def small_scale(v: Values, draw: Generator) -> dict[str, Any]:
    """Queries and keys of tens of thousands with a scale of 1e-10: who rounds their product to a half keeps nothing."""
    q, k = (np.clip(2.0**14 * np.nan_to_num(v[name].astype(np.float64)), -6e4, 6e4) for name in ("q", "k"))
    return {"q": q, "k": k, "scale": SCALES[0] * 2.0**-28, "past": _past(v, draw)}


def one_huge(v: Values, draw: Generator) -> dict[str, Any]:
    """One key of each head is a query's own, ten times as long: all of the weight, or none if the scale is below 0."""
    k = v["k"].astype(np.float64)
    for h, keys in enumerate(k):
        if keys.size and v["q"][h].size:
            keys[draw.integers(len(keys))] = 10 * v["q"][h, 0, draw.integers(v["q"].shape[2])]
    return {"k": k, "scale": draw.choice([-SCALES[0], SCALES[0]]).item(), "past": _past(v, draw)}


def one_nan(v: Values, draw: Generator) -> dict[str, Any]:
    """A NaN in one query, which no other one sees, or in one key, which queries before it do not see."""
    source = v["q"] if draw.random() < 0.5 else v["k"]
    changed = source.copy()
    if changed.size:
        changed.flat[draw.integers(changed.size)] = np.nan
    return {"q" if source is v["q"] else "k": changed, "past": _past(v, draw)}


def flash_attention(v: Values) -> object:
    """FlashAttention-2 as it is in PyTorch."""
    return _sdpa(v, "FLASH_ATTENTION")


def cudnn(v: Values) -> object:
    """cuDNN's kernel."""
    return _sdpa(v, "CUDNN_ATTENTION")


def _sdpa(v: Values, backend: str) -> object:
    """Scaled dot product attention without a mask, which is what is timed; `out` is not theirs to write."""
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q = v["q"].flatten(0, 1)[None]
    with sdpa_kernel(getattr(SDPBackend, backend)):
        out = F.scaled_dot_product_attention(q, v["k"][None], v["v"][None], scale=float(v["scale"]), enable_gqa=True)
    return v["out"].copy_(out.view_as(v["out"]))


problem = Problem(
    name="attention",
    title="Attention with grouped heads and a causal mask, float16 with float32 sums",
    parameters=(
        array("q", "float16", "H", "G", "Q", f"{WIDTH}"),
        array("k", "float16", "H", "K", f"{WIDTH}"),
        array("v", "float16", "H", "K", f"{WIDTH}"),
        array("out", "float16", "H", "G", "Q", f"{WIDTH}", role="out"),
        size("H"),
        size("G"),
        size("Q"),
        size("K"),
        scalar("past", "int32"),
        scalar("scale"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="2",
    arrange=arrange,
    zeros=("Q", "K"),
    without={
        "spikes": "a million is infinite in float16",
        "cancellation": "scores of millions: which key wins is decided by the last bits of float32",
        "nonfinite": "0 weights of an Inf are NaN where a tile is multiplied as a whole, as in PyTorch's own kernels",
        "not a number": "the same; NaN in queries and keys is a kind of its own",
    },
    public=(
        {"H": 1, "G": 2, "Q": 130, "K": 150},
        {"H": 2, "G": 1, "Q": 64, "K": 64},
        {"H": 2, "G": 3, "Q": 5, "K": 33},
        {"H": 1, "G": 1, "Q": 20, "K": 300},
        {"H": 1, "G": 1, "Q": 1, "K": 1},
    ),
    special={
        "causal": causal,
        "last tokens": last_tokens,
        "any past": any_past,
        "ends of past": ends_of_past,
        "rising": rising,
        "far below zero": far_below_zero,
        "small scale": small_scale,
        "one huge": one_huge,
        "one NaN": one_nan,
    },
    largest={"H": 2, "G": 2, "Q": 132, "K": 132},
    widest={"H": 20, "G": 9, "Q": 4200, "K": 4200},
    wide_data=("normal", "causal", "last tokens"),
    tiles=(32, 64, 128),
    observed={"H": 1, "G": 2, "Q": 128, "K": 256},
    timed={"H": 8, "G": 2, "Q": 4096, "K": 4096},
    flops=f"4*H*G*Q*K*{WIDTH}",
    bytes=f"4*H*(G*Q+K)*{WIDTH}",
    alignment=16,  # the op checks it
    pieces="H",
    peers={"cuDNN": Peer(cudnn), "FlashAttention": Peer(flash_attention)},
    torch_ops=("aten::scaled_dot_product_attention",),
)
