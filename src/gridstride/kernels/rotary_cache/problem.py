"""From one matrix product to attention: norm and turn queries and keys, put keys and values into the paged cache.

A row of qkv is G K heads of queries, then K of keys, then K of values, 64 numbers each. Queries and keys get the RMS
norm of their head (eps, 1e-12 to 0.1, is added to the mean square) times their weight; then numbers i and i + 32 of a
head are turned by the angle of the token's position: low cos - high sin and high cos + low sin. Token t's key and value
of head k go to [slot / block_size, k, slot % block_size] of the caches, all else in which stays as it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

WIDTH = 64  # of a head; the kernels take others by macro
EPSILONS = (1e-5, 1e-6, 1e-12, 1e-3, 0.1)  # the first two are what models use


def reference(v: Values) -> dict[str, Array]:
    """Queries [N, G K, D]; the cache [B, K, block_size, D] as it was, but for the slots of the N tokens."""
    heads, kv = v["G"] * v["K"], v["K"]
    q, k, value = np.split(v["qkv"].reshape(v["N"], heads + 2 * kv, WIDTH), (heads, heads + kv), axis=1)
    keys, values = v["keys"].copy(), v["values"].copy()
    block, offset = v["slots"] // v["block_size"], v["slots"] % v["block_size"]
    keys[block, :, offset] = turned(k, v["k_weight"], v)
    values[block, :, offset] = value
    return {"q": turned(q, v["q_weight"], v), "keys": keys, "values": values}


def turned(x: Array, weight: Array, v: Values) -> Array:
    """Each head's RMS norm, then pairs (i, i + D/2) turned by the angle of the token's position."""
    x = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + v["eps"]) * weight
    low, high = np.split(x, 2, axis=-1)
    c, s = (table[v["positions"]][:, None] for table in (v["cosine"], v["sine"]))
    return np.concatenate((low * c - high * s, high * c + low * s), axis=-1)


def magnitude(v: Values) -> dict[str, Array]:
    """The same with absolute values: a turned pair may cancel."""
    positive = {name: v[name] if name in ("positions", "slots") else abs(v[name]) for name in v}
    positive["sine"] = -positive["sine"]  # low * c - high * s adds up
    magnitudes = reference(positive)
    positive["sine"] = abs(positive["sine"])
    of_positive = reference(positive)
    return {name: np.maximum(abs(magnitudes[name]), abs(of_positive[name])) for name in magnitudes}


def arrange(v: Values) -> dict[str, Any]:
    """Positions within the tables, slots all different and within the cache."""
    slot_count = v["keys"].shape[0] * v["block_size"]
    order = np.argsort(v["slots"], kind="stable")
    slots = np.random.default_rng(len(order)).permutation(slot_count)[: len(order)][order]
    eps = EPSILONS[int(abs(v["eps"]) * 1e4) % len(EPSILONS)]
    return {"eps": eps, "positions": v["positions"] % v["cosine"].shape[0], "slots": slots.astype(np.int64)}


def small_heads(v: Values, draw: Generator) -> dict[str, Any]:
    """Heads of zeros and heads in which eps counts as much as the mean square."""
    scale = draw.choice([0.0, 1e-3, 1e-2], (*v["qkv"].shape[:-1], v["qkv"].shape[-1] // WIDTH))
    return {"qkv": v["qkv"] * np.repeat(scale, WIDTH, axis=-1), "eps": float(draw.choice(EPSILONS[:2]))}


def denormal_heads(v: Values, draw: Generator) -> dict[str, Any]:
    """Heads of denormals with an eps that is smaller yet."""
    return {"qkv": v["qkv"] * 1e-5, "eps": min(EPSILONS)}


def large_heads(v: Values, draw: Generator) -> dict[str, Any]:
    """Heads whose squares are infinite in float16."""
    return {"qkv": v["qkv"] * 400.0}


def ends(v: Values, draw: Generator) -> dict[str, Any]:
    """Positions at both ends of the tables, slots at both ends of the cache."""
    slot_count = v["keys"].shape[0] * v["keys"].shape[2]
    slots = [slot for i in range(slot_count) for slot in (i, slot_count - 1 - i)][: len(v["slots"])]
    return {"positions": draw.choice([0, len(v["cosine"]) - 1], len(slots)), "slots": np.array(slots)}


problem = Problem(
    name="rotary_cache",
    title="Rotary positions, head norm and the write into the paged cache, float16",
    parameters=(
        array("qkv", "float16", "N", f"(G+2)*K*{WIDTH}"),
        array("cosine", "float32", "C", f"{WIDTH // 2}"),
        array("sine", "float32", "C", f"{WIDTH // 2}"),
        array("q_weight", "float16", f"{WIDTH}"),
        array("k_weight", "float16", f"{WIDTH}"),
        array("positions", "int64", "N"),
        array("slots", "int64", "N"),
        array("q", "float16", "N", "G*K", f"{WIDTH}", role="out"),
        array("keys", "float16", "ceil(N/block_size)+1", "K", "block_size", f"{WIDTH}", role="inout"),
        array("values", "float16", "ceil(N/block_size)+1", "K", "block_size", f"{WIDTH}", role="inout"),
        size("N"),
        size("G"),
        size("K"),
        size("block_size"),
        scalar("eps"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="4",
    without={
        "spikes": "a million is infinite in float16",
        "cancellation": "cosines are at most 1: turned, numbers near a thousand are infinite in float16",
        "nonfinite": "one Inf makes its head NaN, and NaN times the scale of the others says nothing",
    },
    arrange=arrange,
    public=(
        {"N": 5, "C": 40, "G": 2, "K": 2, "block_size": 16},
        {"N": 3, "C": 7, "G": 1, "K": 3, "block_size": 8},
        {"N": 1, "C": 1, "G": 4, "K": 1, "block_size": 1},
    ),
    special={
        "small heads": small_heads,
        "denormal heads": denormal_heads,
        "large heads": large_heads,
        "both ends": ends,
    },
    widest={"N": 16_500, "C": 5000, "K": 9},
    largest={"N": 20, "C": 64, "G": 5, "K": 3, "block_size": 32},
    tiles=(4, 8, 16, 32),
    observed={"N": 16, "C": 64, "G": 2, "K": 4, "block_size": 16},
    timed={"N": 16_384, "C": 4096, "G": 2, "K": 8, "block_size": 16},
    flops=f"6*N*(G+1)*K*{WIDTH}",
    bytes=f"4*N*(G+2)*K*{WIDTH}",
    alignment=16,  # the op checks it
)
