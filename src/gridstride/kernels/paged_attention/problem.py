"""Decoding's attention: one query token per sequence over its keys and values, which lie in blocks of a paged cache.

Two query heads share each of the K heads of keys and values. Token t of sequence s lies at [tables[s][t / 16], head,
t % 16]. A sequence without tokens gives zeros. The rest of the cache and of the tables holds anything: NaN, or numbers
of no block; q and what belongs to a sequence are finite. `scale` is any finite number, below zero too: the smallest
product counts most then. `partial` is memory to use, and `arrived` holds zeros before a launch and after it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

WIDTH, GROUP, BLOCK_SIZE, SPLITS = 64, 2, 16, 3  # of the judged kernels; they take others by macro and grid
LARGE = 100.0  # a score
SCALES = (WIDTH**-0.5, 0.05, 0.3, -(WIDTH**-0.5), -0.3)  # the first is what most models use


def reference(v: Values) -> dict[str, Array]:
    """softmax(scale q k) v of every sequence and head; a sequence without tokens gives zeros."""
    weighted = _attended(v, v["values"])
    return {"out": weighted, "arrived": v["arrived"]}


def magnitude(v: Values) -> dict[str, Array]:
    """The same weights over absolute values: scores may be wrong by their own size times a rounding, too. Of keys only
    those that belong to a sequence are numbers, and there may be none.
    """
    size = np.abs(v["q"]).sum(-1, keepdims=True).max() * np.nanmax(np.abs(v["keys"]), initial=0) * abs(v["scale"])
    return {"out": _attended(v, abs(v["values"])) * (1 + 0.01 * size), "arrived": v["arrived"]}


def _attended(v: Values, values: Array) -> Array:
    out = np.zeros_like(v["q"])
    for s, length in enumerate(v["lengths"]):
        if not length:
            continue
        blocks = v["tables"][s][: -(-length // BLOCK_SIZE)]
        k, x = (np.concatenate(cache[blocks], axis=1)[:, :length] for cache in (v["keys"], values))  # [K, length, D]
        q = v["q"][s].reshape(len(k), GROUP, WIDTH)
        scores = np.einsum("kgd,ktd->kgt", q, k) * v["scale"]
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        means = np.einsum("kgt,ktd->kgd", weights, x) / weights.sum(axis=-1, keepdims=True)
        out[s] = means.reshape(-1, WIDTH)
    return out


def arrange(v: Values) -> dict[str, Any]:
    """Blocks that there are, lengths that the tables reach, a score of the size of 1, counters at zero.

    Where all q and all keys are equal, so are the scores: they are 100 then, which e to the power of overflows, and who
    does not take the largest away first is wrong. Right kernels lose nothing: all weights are 1.
    """
    q, k = v["q"].flat[0], v["keys"].flat[0]
    is_uniform = bool(float(q) * float(k) and (v["q"] == q).all() and (v["keys"] == k).all())
    longest = v["tables"].shape[1] * BLOCK_SIZE
    return {
        "tables": (v["tables"] % v["keys"].shape[0]).astype(np.int32),
        "lengths": (v["lengths"] % (longest + 1)).astype(np.int32),
        "arrived": np.zeros_like(v["arrived"]),
        "scale": LARGE / (WIDTH * float(q) * float(k))
        if is_uniform
        else SCALES[int(abs(v["scale"]) * 1e4) % len(SCALES)],
    }


def edges(v: Values, draw: Generator) -> dict[str, Any]:
    """Sequences without tokens, with one, with whole blocks, with one more and one less, and as long as they get."""
    longest = v["tables"].shape[1] * BLOCK_SIZE
    edge = [0, 1, BLOCK_SIZE - 1, BLOCK_SIZE, BLOCK_SIZE + 1, 2 * BLOCK_SIZE, longest]
    lengths = draw.choice(edge, len(v["lengths"]))
    lengths[0] = 0
    lengths[-1] = longest  # one is, each time: who has room for less falls where tables are widest
    return {"lengths": np.minimum(lengths, longest), **_last_counts(v)}


def _last_counts(v: Values) -> dict[str, Any]:
    """The last sequence's last token, in a block of its own, has the largest score by far: who stops early is wrong."""
    keys, tables = v["keys"].copy(), v["tables"].copy()
    if len(keys) < 2 or not np.isfinite(v["q"][-1]).all():
        return {}
    tables[-1] %= len(keys) - 1
    tables[-1, -1] = len(keys) - 1
    keys[-1, :, -1] = 3 * np.sign(v["q"][-1, ::GROUP]) * np.sign(v["scale"])
    return {"keys": keys, "tables": tables}


def whole_blocks(v: Values, draw: Generator) -> dict[str, Any]:
    """Lengths that end with a block."""
    return {"lengths": BLOCK_SIZE * draw.integers(1, v["tables"].shape[1], len(v["lengths"]), endpoint=True)}


def far_below_zero(v: Values, draw: Generator) -> dict[str, Any]:
    """Scores of some -200, -20,000 or -2,000,000, all of them: who takes 0, -10,000 or -1e6 for the largest, or does
    not take it away, divides 0 by 0.
    """
    small = {name: 0.1 * v[name].astype(np.float64) for name in ("q", "keys")}
    scale = SCALES[0] * draw.choice([1.0, 100.0, 1e4]).item()
    return {"q": small["q"] - 5, "keys": small["keys"] + 5, "scale": scale}


def far_above_zero(v: Values, draw: Generator) -> dict[str, Any]:
    """Scores that are large and exact, of some hundreds to a third of a million, the largest alone and a quarter above
    the others: who holds scores down, or in fewer bits, mixes in the others' values, which are far larger.
    """
    signs = draw.choice([-1.0, 1.0], v["q"].shape[-1])
    size, scale = draw.choice([8.0, 64.0, 192.0]), draw.choice([-1.0, 1.0]) * SCALES[0]
    keys = np.full(v["keys"].shape, 0.75 * size)
    values = np.full(v["values"].shape, 8.0)
    for block, head in np.ndindex(keys.shape[:2]):
        token = draw.integers(BLOCK_SIZE)
        keys[block, head, token] = size
        values[block, head, token] = 2.0**-6
    return {"q": np.broadcast_to(signs * size, v["q"].shape), "keys": keys * signs * np.sign(scale),
            "values": values, "scale": float(scale)}  # fmt: skip


def unused(v: Values, draw: Generator) -> dict[str, Any]:
    """What belongs to no sequence is what memory happens to hold: NaN in the cache, and -1 in the tables."""
    blocks, used = -(-v["lengths"] // BLOCK_SIZE), np.zeros((len(v["keys"]), BLOCK_SIZE), bool)
    tables = v["tables"].copy()
    for s, length in enumerate(v["lengths"]):
        tokens = np.arange(length)
        used[tables[s, tokens // BLOCK_SIZE], tokens % BLOCK_SIZE] = True
        tables[s, blocks[s] :] = draw.choice([-1, 1 << 30])
    cache = {name: v[name].copy() for name in ("keys", "values")}
    for pool in cache.values():
        pool.swapaxes(1, 2)[~used] = np.nan
    return {**cache, "tables": tables}


def far_apart(v: Values, draw: Generator) -> dict[str, Any]:
    """Scores hundreds apart, with a scale of either sign: below zero it is the smallest product that counts."""
    spread = {name: np.clip(np.nan_to_num(v[name].astype(np.float64), nan=0.0), -4, 4) for name in ("q", "keys")}
    return {"q": spread["q"], "keys": 8 * spread["keys"], "scale": draw.choice([-SCALES[2], SCALES[2]]).item()}


problem = Problem(
    name="paged_attention",
    title="Attention of one new token per sequence over a paged cache, grouped heads, float16",
    parameters=(
        array("q", "float16", "S", f"{GROUP}*K", f"{WIDTH}"),
        array("keys", "float16", "B", "K", f"{BLOCK_SIZE}", f"{WIDTH}"),
        array("values", "float16", "B", "K", f"{BLOCK_SIZE}", f"{WIDTH}"),
        array("tables", "int32", "S", "table_width"),
        array("lengths", "int32", "S"),
        array("out", "float16", "S", f"{GROUP}*K", f"{WIDTH}", role="out"),
        array("partial", "float32", "S", f"{GROUP}*K", f"{SPLITS}", f"{WIDTH + 2}", role="scratch"),
        array("arrived", "int32", "S", "K", role="inout"),
        size("S"),
        size("K"),
        size("table_width"),
        scalar("scale"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="4",
    without={
        "spikes": "a million is infinite in float16",
        "cancellation": "scores of thousands: which key wins is decided by the last bit of float16",
        "nonfinite": "one Inf makes a whole head NaN",
        "not a number": "rounding is measured by the scores' sizes, and one NaN leaves none",
    },
    arrange=arrange,
    public=(
        {"S": 3, "K": 2, "B": 40, "table_width": 20},
        {"S": 2, "K": 1, "B": 4, "table_width": 3},
        {"S": 1, "K": 3, "B": 1, "table_width": 1},
    ),
    special={
        "edges of lengths": edges,
        "whole blocks": whole_blocks,
        "scores far below zero": far_below_zero,
        "scores far apart": far_apart,
        "scores far above zero": far_above_zero,
        "nothing behind the ends": unused,
    },
    widest={"S": 300, "B": 10_000, "table_width": 300, "K": 9},
    wide_data=("edges of lengths",),
    largest={"S": 4, "K": 3, "B": 60, "table_width": 24},
    tiles=(2, 4, 8, 16),
    observed={"S": 4, "K": 2, "B": 64, "table_width": 16},
    timed={"S": 128, "K": 8, "B": 8192, "table_width": 64},
    flops=f"2*S*K*{GROUP}*table_width*{BLOCK_SIZE}*{WIDTH}",
    bytes=f"2*S*K*table_width*{BLOCK_SIZE}*{WIDTH}",
    alignment=16,  # the op checks it
)
