"""Dropout whose mask follows from a seed: y[i] = x[i] scale where element i is kept, else 0, whatever x[i] is.

Element i's random number is word i % 4 of Philox4x32-10 with the key seed[0] and the counter seed[1] + i / 4, both of
64 bits, the low word first, the counter's upper 64 bits 0; it is kept where that is not below `drop`. The gradient of
x is the same of dy, with the same seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, scalar, size

SHARES = (0.1, 0.5, 0.9, 0.0, 0.25)  # dropped
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10


KEY = 0x5EED0F0D0A7E1234
ENDS = (  # counters that give one of the largest words or of the smallest with that key, and the word: found by search
    (4_888_562, 0xFFFFFF88),
    (8_261_215, 0xFFFFFFAB),
    (13_078_127, 0xFFFFFFEA),
    (22_593_057, 0xFFFFFFF4),
    (15_298_763, 0x0000000C),
)


def philox(counter: Array, key: int) -> Array:
    """Four 32-bit words [n, 4] for each 64-bit counter [n] (J. K. Salmon et al., Parallel Random Numbers: As Easy as 1,
    2, 3, 2011).
    """
    counter = counter.astype(np.uint64)
    words = [counter & _LOW, counter >> _HALF, np.zeros_like(counter), np.zeros_like(counter)]
    keys = [key & 0xFFFFFFFF, key >> 32 & 0xFFFFFFFF]
    for _ in range(_ROUNDS):
        first, second = _MULTIPLIERS[0] * words[0], _MULTIPLIERS[1] * words[2]
        words = [second >> _HALF ^ words[1] ^ np.uint64(keys[0]), second & _LOW,
                 first >> _HALF ^ words[3] ^ np.uint64(keys[1]), first & _LOW]  # fmt: skip
        keys = [key + step & 0xFFFFFFFF for key, step in zip(keys, _WEYL, strict=True)]
    return np.stack(words, axis=1)


def words(n: int, seed: Array) -> Array:
    """The random numbers of n elements."""
    key, start = (int(word) & 0xFFFFFFFFFFFFFFFF for word in seed)
    counters = np.arange(-(-n // 4), dtype=np.uint64) + np.uint64(start)
    return philox(counters, key).reshape(-1)[:n]


def reference(v: Values) -> dict[str, Array]:
    """By the definition."""
    with np.errstate(all="ignore"):
        return {"y": np.where(words(len(v["x"]), v["seed"]) >= v["drop"], v["x"] * v["scale"], 0.0)}


def numbers(share: float) -> dict[str, Any]:
    """`drop` and `scale` for a share of elements to be dropped."""
    return {"drop": int(share * 2**32), "scale": float(np.float32(1.0 / (1.0 - share)))}


def arrange(v: Values) -> dict[str, Any]:
    """Shares as models have them."""
    return numbers(SHARES[v["drop"] % len(SHARES)])


def carries(v: Values, draw: Generator) -> dict[str, Any]:
    """Counters that pass from one 32-bit word to the next within the array, or from the largest to 0."""
    steps_to_carry = draw.integers(0, max(1, min(len(v["x"]) // 4, 200)), endpoint=True)
    ends = [1 << 32, 1 << 40, 0, 1 << 63]
    start = (int(draw.choice(ends)) - int(steps_to_carry)) % 2**64
    return {"seed": np.array([v["seed"][0], np.uint64(start).astype(np.int64)])}


def small_seeds(v: Values, draw: Generator) -> dict[str, Any]:
    """Keys and counters that fit 32 bits."""
    return {"seed": draw.integers(0, 1 << 16, 2), **numbers(0.5)}


def nothing_dropped(v: Values, draw: Generator) -> dict[str, Any]:
    """All elements are kept, and scaled all the same: a zero by Inf or NaN is NaN."""
    x = np.where(draw.random(v["x"].shape) < 0.1, 0.0, v["x"])
    return {"x": x, "drop": 0, "scale": float(draw.choice([2.0, np.inf, np.nan]))}


def at_a_word(v: Values, draw: Generator) -> dict[str, Any]:
    """`drop` is one of the elements' random numbers: that element is kept."""
    return _next_to_a_word(v, draw, 0)


def above_a_word(v: Values, draw: Generator) -> dict[str, Any]:
    """`drop` is one above one of the elements' random numbers, which a float does not tell apart."""
    return _next_to_a_word(v, draw, 1)


def ends_of_words(v: Values, draw: Generator) -> dict[str, Any]:
    """One of the largest random numbers, or of the smallest, and `drop` at it or next to it: all others are dropped, or
    all are kept.
    """
    counter, word = ENDS[draw.integers(len(ENDS))]
    steps_to_word = int(draw.integers(0, max(1, len(v["x"]) // 4)))
    return {"seed": np.array([KEY, counter - steps_to_word]), "drop": word + int(draw.integers(-1, 2))}


def _next_to_a_word(v: Values, draw: Generator, above: int) -> dict[str, Any]:
    keep_words = words(len(v["x"]), v["seed"])
    return {"drop": min(int(draw.choice(keep_words)) + above, 2**32 - 1)} if len(keep_words) else {}


def torch_dropout(v: Values) -> object:
    """PyTorch's, with its own generator, which writes a mask of bytes besides."""
    import torch

    y, _ = torch.native_dropout(v["x"], 1.0 - 1.0 / v["scale"], True)
    return v["y"].copy_(y)


problem = Problem(
    name="dropout",
    title="Dropout from a seed, float32",
    parameters=(
        array("x", "float32", "n"),
        array("seed", "int64", "2"),
        array("y", "float32", "n", role="out"),
        size("n", "int64"),
        scalar("drop", "uint32"),
        scalar("scale"),
    ),
    reference=reference,
    arrange=arrange,
    zeros=("n",),
    public=({"n": 4096}, {"n": 1000}, {"n": 4099}, {"n": 1}),
    largest={"n": 20_000},
    widest={"n": 300_000},
    special={
        "carries": carries,
        "small seeds": small_seeds,
        "nothing dropped": nothing_dropped,
        "drop at a word": at_a_word,
        "drop above a word": above_a_word,
        "ends of the words": ends_of_words,
    },
    tiles=(32, 256, 1024, 2048),
    observed={"n": 1 << 16},
    timed={"n": 1 << 26},
    flops="n",
    bytes="8*n",
    peers={"torch.native_dropout": Peer(torch_dropout)},
    torch_ops=("aten::native_dropout", "aten::dropout"),
)
