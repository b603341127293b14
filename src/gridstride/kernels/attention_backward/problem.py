"""Backward pass of attention: the gradients of q, k and v from that of the result, the scores made again.

Of each query i and key j that it sees, with the forward pass's lse_i = log Σ_j e^(scale q_i k_j), and
delta_i = dout_i out_i:

    P = e^(scale q k - lse)        dS = P (dout v - delta)
    dv = Σ_i P dout                dk = scale Σ_i dS q                dq += scale Σ_j dS k

G query heads share each of the H heads of keys and values: dk and dv are sums over the group, too. Query i sees the
keys 0 to i + past, as in `attention`. dq is in float32 and added to what is there: blocks that have different keys
share it.
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
"""A product's error in roundings of float16, in proportion to the sum of its terms' absolute values: 128 roundings of
float32 at worst, and the tensor cores cut off where a float32 unit rounds."""
_LEAST = 2.0**-14
"""P and dS are halves before the second products: below 2^-14 they are wrong by up to 2^-25, in the same units."""
_LSE = 2.0**-11  # the same of lse, which is multiplied by log2(e) and taken from the score: four roundings
_HALVES = 2.0**13  # roundings of float32 in one of float16: dq is a sum of products of halves
_FLUSHED = 2.0**-102  # the smallest normal float, below which the copy engine's sums are 0, in roundings of float32


def reference(v: Values) -> dict[str, Array]:
    """Head by head; the sums over a group in the order of its heads."""
    dq = v["dq"].copy()
    dk, dv = np.zeros_like(v["k"]), np.zeros_like(v["v"])
    for h, g in np.ndindex(dq.shape[:2]):
        q, k, dout = v["q"][h, g], v["k"][h], v["dout"][h, g]
        weights = _weights(v, h, g)
        slopes = weights * (dout @ v["v"][h].T - v["delta"][h, g][:, None])
        dq[h, g] += v["scale"] * (slopes @ k)
        dk[h] += v["scale"] * (slopes.T @ q)
        dv[h] += weights.T @ dout
    return {"dq": dq, "dk": dk, "dv": dv}


def magnitude(v: Values) -> dict[str, Array]:
    """The same over absolute values. An error of a score is one of its weight; dq counts in roundings of float32, of
    which each key may bring one.
    """
    dq = abs(v["dq"]) * (1 + v["k"].shape[1]) + _FLUSHED
    dk, dv = np.zeros_like(v["k"]), np.zeros_like(v["v"])
    scale = abs(v["scale"])
    for h, g in np.ndindex(dq.shape[:2]):
        q, k, dout = (abs(array) for array in (v["q"][h, g], v["k"][h], v["dout"][h, g]))
        visible, lse = _visible(v), v["lse"][h, g][:, None]
        rounding = _PRODUCT * scale * (q @ k.T) + _LSE * abs(np.where(np.isneginf(lse), 0.0, lse))
        weights = _weights(v, h, g) * (1 + rounding)
        slopes = (
            weights * (1 + _PRODUCT) * (dout @ abs(v["v"][h]).T + abs(v["delta"][h, g][:, None])) + _LEAST * visible
        )
        dq[h, g] += _HALVES * scale * (slopes @ k)
        dk[h] += scale * (slopes.T @ q)
        dv[h] += (weights + _LEAST * visible).T @ dout
    return {"dq": dq, "dk": dk, "dv": dv}


def _visible(v: Values) -> Array:
    """Which keys a query sees, [Q, K]."""
    queries, keys = v["q"].shape[2], v["k"].shape[1]
    return np.arange(keys) <= np.arange(queries)[:, None] + int(v["past"])


def _weights(v: Values, h: int, g: int) -> Array:
    """P of one head, [Q, K]; 0 where a key is not seen."""
    with np.errstate(invalid="ignore", over="ignore"):
        powers = np.exp(v["q"][h, g] @ v["k"][h].T * v["scale"] - v["lse"][h, g][:, None])
    return np.where(_visible(v), powers, 0.0)


def of_forward_pass(v: Values) -> dict[str, Any]:
    """lse and delta as the forward pass of these q, k, v gives them; lse is -Inf for a query that sees nothing."""
    lse, delta = (np.zeros(v["q"].shape[:3], np.float32) for _ in range(2))
    visible = _visible(v)
    for h, g in np.ndindex(lse.shape[:2]):
        q, k, values, dout = (np.asarray(x, np.float64) for x in (v["q"][h, g], v["k"][h], v["v"][h], v["dout"][h, g]))
        with np.errstate(invalid="ignore", divide="ignore"):
            scores = np.where(visible, q @ k.T * v["scale"], -np.inf)
            largest = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
            largest = np.where(np.isneginf(largest), 0.0, largest)
            powers = np.exp(scores - largest)
            total = powers.sum(axis=-1, keepdims=True)
            lse[h, g] = (largest + np.log(total))[:, 0]
            out = powers / np.where(total == 0, 1.0, total) @ values
        delta[h, g] = np.sum(dout * out, axis=-1)
    return {"lse": lse, "delta": delta}


def arrange(v: Values) -> dict[str, Any]:
    """Everything is seen, and scores are of the size of 1; 100 where all q and all k are equal."""
    q, k = (v[name].flat[0] if v[name].size else 0.0 for name in ("q", "k"))
    is_uniform = bool(float(q) * float(k) and (v["q"] == q).all() and (v["k"] == k).all())
    scale = LARGE / (WIDTH * float(q) * float(k)) if is_uniform else SCALES[int(abs(v["scale"]) * 1e4) % len(SCALES)]
    return _with(v, past=v["k"].shape[1], scale=scale)


def _with(values: Values, **changed: Any) -> dict[str, Any]:
    """Changed values, in the dtypes that they will have, and what the forward pass makes of them."""
    halves = {name: x.astype(np.float16) if isinstance(x, np.ndarray) else x for name, x in changed.items()}
    scale = float(np.float32(halves.get("scale", values["scale"])))
    return {**halves, "scale": scale, **of_forward_pass({**values, **halves, "scale": scale})}


def _past(v: Values, draw: Generator) -> int:
    """A mask of each sort: none, from the first token on, up to the last, anywhere."""
    queries, keys = v["q"].shape[2], v["k"].shape[1]
    return int(draw.choice([keys, 0, keys - queries, draw.integers(-queries, keys + 1)]))


def causal(v: Values, draw: Generator) -> dict[str, Any]:
    """As many keys before a query as queries: torch's is_causal."""
    return _with(v, past=0)


def last_tokens(v: Values, draw: Generator) -> dict[str, Any]:
    """The last query sees every key, the first ones of more queries than keys none."""
    return _with(v, past=v["k"].shape[1] - v["q"].shape[2])


def any_past(v: Values, draw: Generator) -> dict[str, Any]:
    """The mask's edge anywhere, in the middle of a tile too: past every key, and before all of them."""
    queries, keys = v["q"].shape[2], v["k"].shape[1]
    edge = int(draw.integers(-queries - 2, keys + 3))
    return _with(v, past=int(draw.choice([edge, edge, -queries, 1 - queries, (1 << 31) - 1, -(1 << 31), -1])))


def ends_of_past(v: Values, draw: Generator) -> dict[str, Any]:
    """The mask's edge where 32 bits end: its difference to a key, or its sum with a query, is in 64 bits alone."""
    return _with(v, past=int(draw.choice([(1 << 31) - 1, -(1 << 31)])))


def rising(v: Values, draw: Generator) -> dict[str, Any]:
    """Scores that rise along the keys by some 20: weights from 1 to nothing."""
    slope = np.linspace(0.0, 20.0, v["k"].shape[1])
    q, k = v["q"].astype(np.float64), v["k"].astype(np.float64)
    k = 0.3 * k + slope[:, None] / WIDTH**0.5
    return _with(v, q=0.3 * q + 1, k=k, scale=SCALES[0], past=_past(v, draw))


def far_below_zero(v: Values, draw: Generator) -> dict[str, Any]:
    """Scores of some -280, all of them: e to the power of a score beyond the last key, 0, less lse is infinite."""
    q, k = (0.1 * v[name].astype(np.float64) for name in ("q", "k"))
    return _with(v, q=q - 5, k=k + 5, scale=SCALES[0])


def small_scale(v: Values, draw: Generator) -> dict[str, Any]:
    """Queries and keys of tens of thousands with a scale of 1e-10, which as a factor of a half leaves nothing of it."""
    q, k = (np.clip(2.0**14 * np.nan_to_num(v[name].astype(np.float64)), -6e4, 6e4) for name in ("q", "k"))
    small = _with(v, q=q, k=k, scale=SCALES[0] * 2.0**-28, past=_past(v, draw))
    return {**small, "dq": np.zeros_like(v["dq"])}  # beside numbers of the size of 1 its sums would be nothing


def one_huge(v: Values, draw: Generator) -> dict[str, Any]:
    """One key of each head is a query's own, ten times as long: all of the weight, or none if the scale is below 0."""
    k = v["k"].astype(np.float64)
    for h, keys in enumerate(k):
        if keys.size and v["q"][h].size:
            keys[draw.integers(len(keys))] = 10 * v["q"][h, 0, draw.integers(v["q"].shape[2])]
    return _with(v, k=k, scale=draw.choice([-SCALES[0], SCALES[0]]).item(), past=_past(v, draw))


def one_nan(v: Values, draw: Generator) -> dict[str, Any]:
    """A NaN in one row of q, v or dout, all keys seen: what it is nothing to stays a number."""
    name = str(draw.choice(["q", "v", "dout"]))
    changed = v[name].copy()
    if changed.size:
        changed.flat[draw.integers(changed.size)] = np.nan
    return _with(v, **{name: changed})


def flash_attention(v: Values) -> object:
    """FlashAttention-2's backward kernels as they are in PyTorch."""
    return _sdpa_backward(v, "FLASH_ATTENTION")


def cudnn(v: Values) -> object:
    """cuDNN's kernels."""
    return _sdpa_backward(v, "CUDNN_ATTENTION")


_graphs: dict[tuple[str, int], tuple[Any, list[Any]]] = {}
"""The last forward pass by backend and address of q, so that the backward pass is timed alone."""


def _sdpa_backward(v: Values, backend: str) -> object:
    """PyTorch's gradients without a mask, which is what is timed; dq, dk and dv are not theirs to write."""
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    key = backend, v["q"].data_ptr()
    if key not in _graphs:
        _graphs.clear()
        leaves = [x[None].detach().requires_grad_() for x in (v["q"].flatten(0, 1), v["k"], v["v"])]
        with torch.enable_grad(), sdpa_kernel(getattr(SDPBackend, backend)):
            q, k, value = leaves
            out = F.scaled_dot_product_attention(q, k, value, scale=float(v["scale"]), enable_gqa=True)
        _graphs[key] = out, leaves
    out, leaves = _graphs[key]
    return torch.autograd.grad(out, leaves, v["dout"].view_as(out), retain_graph=True)


problem = Problem(
    name="attention_backward",
    title="Backward pass of attention with grouped heads and a causal mask, float16 with float32 sums",
    parameters=(
        array("q", "float16", "H", "G", "Q", f"{WIDTH}"),
        array("k", "float16", "H", "K", f"{WIDTH}"),
        array("v", "float16", "H", "K", f"{WIDTH}"),
        array("dout", "float16", "H", "G", "Q", f"{WIDTH}"),
        array("lse", "float32", "H", "G", "Q"),
        array("delta", "float32", "H", "G", "Q"),
        array("dq", "float32", "H", "G", "Q", f"{WIDTH}", role="inout"),
        array("dk", "float16", "H", "K", f"{WIDTH}", role="out"),
        array("dv", "float16", "H", "K", f"{WIDTH}", role="out"),
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
    zeros=("Q",),
    without={
        "spikes": "a million is infinite in float16",
        "cancellation": "scores of millions: which key wins is decided by the last bits of float32",
        "nonfinite": "0 weights of an Inf are NaN where a tile is multiplied as a whole, as in PyTorch's own kernels",
        "not a number": "the same; NaN where all is seen is a kind of its own",
    },
    public=(
        {"H": 1, "G": 2, "Q": 130, "K": 150},
        {"H": 2, "G": 1, "Q": 64, "K": 64},
        {"H": 2, "G": 3, "Q": 33, "K": 5},
        {"H": 1, "G": 1, "Q": 300, "K": 20},
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
    flops=f"10*H*G*Q*K*{WIDTH}",
    bytes=f"4*H*(3*G*Q+2*K)*{WIDTH}",
    alignment=16,  # the op checks it
    unrepeatable="blocks that have different keys add to dq in the order in which they come",
    pieces="H",
    peers={"cuDNN": Peer(cudnn), "FlashAttention": Peer(flash_attention)},
    torch_ops=(
        "aten::_scaled_dot_product_flash_attention_backward",
        "aten::_scaled_dot_product_cudnn_attention_backward",
    ),
)
