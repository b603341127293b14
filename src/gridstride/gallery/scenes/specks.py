"""A picture with specks of salt and pepper, which a median takes away and leaves the edges."""

from __future__ import annotations

import numpy as np

import gridstride as gs
from gridstride.gallery.png import Pixels
from gridstride.gallery.rung import Rung
from gridstride.gallery.scenes.heat import bodies

SHARE = 0.3  # of the pixels are black or white


class Specks:
    """The picture, and the memory of the next one."""

    def __init__(self, width: int, height: int) -> None:
        self._rung = Rung("median", {"H": height, "W": width})
        self._sizes = (height, width)
        clean = (128 + 60 * bodies(width, height)).astype(np.uint8)
        self._now, self._next = gs.to_device(specked(clean, SHARE)), gs.empty((height, width), "uint8")

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            self._rung(self._now, self._next, *self._sizes)
            self._now, self._next = self._next, self._now

    def picture(self) -> Pixels:
        """Its grey as the index."""
        return self._now.numpy()


def specked(picture: Pixels, share: float) -> Pixels:
    """With so many of its pixels black or white, half of them each."""
    draw = np.random.default_rng(9)
    specks = draw.choice(np.array([0, 255], np.uint8), picture.shape)
    return np.where(draw.random(picture.shape) < share, specks, picture)
