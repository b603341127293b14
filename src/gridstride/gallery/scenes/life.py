"""Conway's Game of Life from the R-pentomino: five cells that keep going for 1,103 generations."""

from __future__ import annotations

import numpy as np

import gridstride as gs
from gridstride.gallery.png import Pixels
from gridstride.gallery.rung import Rung

CELL = 2  # pixels a side
PENTOMINO = ((0, 1), (0, 2), (1, 0), (1, 1), (2, 1))


class Life:
    """Two generations, 32 cells in a word."""

    def __init__(self, width: int, height: int) -> None:
        self._shape = (height, width)
        rows, words = -(-height // CELL), -(-width // (32 * CELL))
        cells = np.zeros((rows, 32 * words), bool)
        for row, column in PENTOMINO:
            cells[rows // 2 - 1 + row, width // (2 * CELL) - 1 + column] = True
        self._sizes = (rows, words)
        self._rung = Rung("life", {"H": rows, "W": words})
        self._now, self._next = gs.to_device(packed(cells)), gs.empty((rows, words), "uint32")

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            self._rung(self._now, self._next, *self._sizes)
            self._now, self._next = self._next, self._now

    def picture(self) -> Pixels:
        """Live cells 255, dead ones 0."""
        cells = unpacked(self._now.numpy()).astype(np.uint8) * 255
        height, width = self._shape
        return cells.repeat(CELL, 0).repeat(CELL, 1)[:height, :width]


def packed(cells: np.ndarray) -> np.ndarray:
    """(H, 32 W) cells as (H, W) words: column 32 w + b is bit b of word w."""
    words: np.ndarray = np.packbits(cells, axis=1, bitorder="little").view("<u4")
    return words


def unpacked(words: np.ndarray) -> np.ndarray:
    """The other way round."""
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(bool)
