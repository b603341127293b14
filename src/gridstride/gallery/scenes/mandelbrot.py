"""The Mandelbrot set."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gridstride as gs
from gridstride.gallery.png import Pixels

CENTRE = (-0.65, 0.0)
HEIGHT = 2.4  # of the part of the plane that is shown
AT_ONCE = 64  # iterations of a launch
TURNS = 44.0  # colours of the palette for a doubling of the count
FIRST = 85.0  # about what points far outside have, so that they get the first colours
BLOCK = (8, 16)


class Mandelbrot:
    """z and the count of every pixel."""

    def __init__(self, width: int, height: int) -> None:
        self._shape = (height, width)
        self._done = 0
        self._kernel = gs.cuda(Path(__file__).with_suffix(".cu"))["mandelbrot"]
        self._z = gs.zeros((height, width, 2), "float64")
        self._escape = gs.zeros((height, width))

    def advance(self, steps: int) -> None:
        height, width = self._shape
        pixel = max(HEIGHT / height, 1.5 * HEIGHT / width)
        left, top = CENTRE[0] - pixel * (width - 1) / 2, CENTRE[1] + pixel * (height - 1) / 2
        grid = (-(-width // BLOCK[0]), -(-height // BLOCK[1]))
        for done in range(0, steps, AT_ONCE):
            count = min(AT_ONCE, steps - done)
            self._kernel[grid, BLOCK](self._z, self._escape, width, height, left, top, pixel, self._done + done, count)
        self._done += steps

    def picture(self) -> Pixels:
        """Colours go round with the logarithm of the count; 0 for points that are still there."""
        count = self._escape.numpy()
        ring = np.log2(np.maximum(count, 0.0) + 1.0) * TURNS - FIRST
        return np.where(count > 0, 1 + ring % 255, 0).astype(np.uint8)
