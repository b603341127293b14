"""Half a sweep of the Ising model by Metropolis, on one colour of a checkerboard, periodic; a spin is a byte, 0 or 1.

Of the cells with (row + column + colour) even each is turned round or not, by what all cells were before; the others
stay. A spin that agrees with two of its four neighbours or fewer turns; with three it turns if its random word is
below `three`, with four if it is below `four`: 2^32 e^(-4/T) and 2^32 e^(-8/T). The word of a cell is number
(column % 8) / 2 of

    Philox4x32-10, counter (row, column / 8, half_sweep, 0), key (seed, 0)

(Salmon, Moraes, Dror and Shaw 2011), so that a call serves the four cells of a colour in eight columns; `half_sweep`
counts, so that a word decides once. `colour` is 0 or 1, and `four` is no more than `three`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def philox(counter: tuple[Array, Array, Array, Array], seed: int) -> list[Array]:
    """Four words for each counter, in uint64."""
    a, b, c, d = (np.asarray(word).astype(np.uint64) & _LOW for word in counter)
    key = [np.uint64(seed), np.uint64(0)]
    for _ in range(10):
        first, second = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b, c, d = (second >> _HALF) ^ b ^ key[0], second & _LOW, (first >> _HALF) ^ d ^ key[1], first & _LOW
        key = [(k + np.uint64(step)) & _LOW for k, step in zip(key, (0x9E3779B9, 0xBB67AE85), strict=True)]
    return [a, b, c, d]


def random_words(v: Values) -> Array:
    """Each cell's own, in int64."""
    row, column = np.indices(v["spins"].shape)
    words = philox((row, column // 8, np.full_like(row, v["half_sweep"]), np.zeros_like(row)), v["seed"])
    return np.choose(column % 8 // 2, words).astype(np.int64)


def agreeing(spins: Array) -> Array:
    """How many of a cell's four neighbours are as it is."""
    up = sum(np.roll(spins, by, axis) for axis in (0, 1) for by in (1, -1))
    return np.where(spins == 1, up, 4 - up)


def coloured(v: Values) -> Array:
    """Which cells may turn."""
    row, column = np.indices(v["spins"].shape)
    return (row + column + v["colour"]) % 2 == 0


def reference(v: Values) -> dict[str, Array]:
    """Which turn, and the spins with those turned."""
    agree = agreeing(v["spins"])
    turns = (agree < 3) | (random_words(v) < np.where(agree == 3, v["three"], v["four"]))
    return {"after": v["spins"] ^ (turns & coloured(v))}


def spins_and_chances(v: Values) -> dict[str, Any]:
    """Spins of 0 and 1, a colour of 0 or 1, and the rarer turn no more likely than the other."""
    three, four = max(v["three"], v["four"]), min(v["three"], v["four"])
    return {"spins": v["spins"] & 1, "colour": v["colour"] & 1, "three": three, "four": four}


def one_way(v: Values, draw: Generator) -> dict[str, Any]:
    """Nearly all one way, so that few turn, and those by their word: as below the critical temperature."""
    return {"spins": (draw.random(v["spins"].shape) < 0.03).astype(np.uint8), "three": 1 << 31, "four": 1 << 30}


def at_a_word(v: Values, draw: Generator) -> dict[str, Any]:
    """`three` or `four` is the word of a cell that it decides: this one stays."""
    return _next_to_a_word(v, draw, 0)


def above_a_word(v: Values, draw: Generator) -> dict[str, Any]:
    """`three` or `four` is one above the word of a cell that it decides, which a float does not tell apart."""
    return _next_to_a_word(v, draw, 1)


def _next_to_a_word(v: Values, draw: Generator, above: int) -> dict[str, Any]:
    """Where a few spins are up; as drawn where no cell has three or four neighbours that agree."""
    spins = (draw.random(v["spins"].shape) < 0.1).astype(np.uint8)
    agree, may_turn = agreeing(spins), coloured(v)
    for count in draw.permutation((3, 4)):
        words = random_words(v)[(agree == count) & may_turn]
        if words.size:
            limit = min(int(draw.choice(words)) + above, (1 << 32) - 1)
            chances = (limit, limit // 2) if count == 3 else (max(limit, 1 << 31), limit)
            return {"spins": spins, "three": chances[0], "four": chances[1]}
    return {"spins": spins}


problem = Problem(
    name="ising",
    title="Ising model, half a sweep of Metropolis on a checkerboard",
    parameters=(
        array("spins", "uint8", "H", "W"),
        array("after", "uint8", "H", "W", role="out"),
        size("H"),
        size("W"),
        scalar("colour", "int32"),
        scalar("three", "uint32"),
        scalar("four", "uint32"),
        scalar("half_sweep", "uint32"),
        scalar("seed", "uint32"),
    ),
    reference=reference,
    arrange=spins_and_chances,
    exact=True,
    special={"one way": one_way, "a chance at a word": at_a_word, "a chance above a word": above_a_word},
    public=(
        {"H": 16, "W": 256},
        {"H": 21, "W": 67},
        {"H": 40, "W": 264},
        {"H": 1, "W": 1},
        {"H": 2, "W": 8},
        {"H": 3, "W": 130},
        {"H": 17, "W": 9},
        {"H": 1, "W": 16},
    ),
    largest={"H": 70, "W": 300},
    widest={"H": 20_000, "W": 30_000},
    tiles=(8, 32, 256),
    observed={"H": 64, "W": 512},
    timed={"H": 8192, "W": 8192},
    flops="12*H*W",
    bytes="2*H*W",
)
