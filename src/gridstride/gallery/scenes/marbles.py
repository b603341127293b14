"""Glass, mirrors and matt spheres on a floor under a sky, by path tracing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gridstride as gs
from gridstride.gallery.png import Pixels

BLOCK = (8, 16)
EXPOSURE = 1.1
GAMMA = 2.2


class Marbles:
    """The sum of the light of all paths of every pixel."""

    def __init__(self, width: int, height: int, *, white: bool = False) -> None:
        self._shape = (height, width)
        self._white = white
        self._paths = 0
        self._sums = gs.zeros((height, width, 3))
        self._kernel = gs.cuda(Path(__file__).with_suffix(".cu"))["marbles"]

    def advance(self, steps: int) -> None:
        height, width = self._shape
        grid = (-(-width // BLOCK[0]), -(-height // BLOCK[1]))
        for _ in range(steps):
            self._kernel[grid, BLOCK](self._sums, width, height, self._paths, 1, int(self._white))
            self._paths += 1

    def light(self) -> np.ndarray:
        """(H, W, 3): the mean of all paths."""
        return self._sums.numpy() / max(1, self._paths)

    def picture(self) -> Pixels:
        """As a film has it: what is bright saturates."""
        film = (1 - np.exp(-EXPOSURE * self.light().astype(np.float64))) ** (1 / GAMMA)
        picture: Pixels = np.rint(film * 255).astype(np.uint8)
        return picture
