"""One generation of Conway's Game of Life, 32 cells in a word; beyond the edge every cell is dead.

Bit b of word w in a row is the cell in column 32 w + b. A cell is alive in the next generation if three of its eight
neighbours are alive now, or if two are and it is alive itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, size

BITS = 32  # cells in a word


def cells(words: Array) -> Array:
    """(H, W) words as (H, 32 W) zeros and ones."""
    return np.unpackbits(words.astype("<u4").view(np.uint8), axis=1, bitorder="little")


def words(cells: Array) -> Array:
    """(H, 32 W) zeros and ones as (H, W) words."""
    packed: Array = np.packbits(cells, axis=1, bitorder="little").view("<u4")
    return packed


def reference(v: Values) -> dict[str, Array]:
    """The rule, cell by cell."""
    alive = cells(v["now"])
    height, width = alive.shape
    padded = np.pad(alive, 1)
    neighbours = sum(padded[r : r + height, c : c + width] for r in range(3) for c in range(3)) - alive
    return {"next": words((neighbours == 3) | ((neighbours == 2) & (alive == 1)))}


def soup(v: Values, draw: Generator) -> dict[str, Any]:
    """A cell in three alive, which is what most of Life looks like soon: births and deaths of every kind."""
    alive = draw.random((v["now"].shape[0], v["now"].shape[1] * BITS)) < 1 / 3
    return {"now": words(alive)}


def seams(v: Values, draw: Generator) -> dict[str, Any]:
    """Cells alive only beside the border of two words, where neighbours lie in different ones."""
    masks = np.array([0x80000001, 0xC0000003, 0x40000002], np.uint32)
    return {"now": v["now"] & draw.choice(masks, v["now"].shape)}


problem = Problem(
    name="life",
    title="Game of Life, one generation, 32 cells in a word",
    parameters=(
        array("now", "uint32", "H", "W"),
        array("next", "uint32", "H", "W", role="out"),
        size("H"),
        size("W"),
    ),
    reference=reference,
    exact=True,
    special={"soup": soup, "seams": seams},
    public=(
        {"H": 32, "W": 32},
        {"H": 61, "W": 7},
        {"H": 40, "W": 131},
        {"H": 3, "W": 2},
        {"H": 1, "W": 1},
        {"H": 1, "W": 40},
        {"H": 150, "W": 3},
        {"H": 6, "W": 260},
    ),
    largest={"H": 130, "W": 140},
    widest={"H": 65_000, "W": 70_000},
    tiles=(8, 32, 64, 128),
    observed={"H": 128, "W": 128},
    timed={"H": 8192, "W": 2048},
    flops="30*H*W",
    bytes="8*H*W",
    pieces="H",
    halo=1,
)
