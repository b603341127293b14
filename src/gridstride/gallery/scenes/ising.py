"""The Ising model after a quench: spins that were random, held at a temperature just below the critical one."""

from __future__ import annotations

from math import exp

import numpy as np

import gridstride as gs
from gridstride.gallery.png import Pixels
from gridstride.gallery.rung import Rung

TEMPERATURE = 2.0  # the critical one is 2.269
SEED = 11


class Ising:
    """Spins, a byte each; sides are rounded up to even numbers, as a checkerboard that is periodic needs."""

    def __init__(self, width: int, height: int) -> None:
        self._shape = (height, width)
        self._sizes = (height + height % 2, width + width % 2)
        spins = np.random.default_rng(SEED).integers(0, 2, self._sizes, np.uint8)
        self._spins, self._next_spins = gs.to_device(spins), gs.empty(self._sizes, "uint8")
        self._rung = Rung("ising", dict(zip("HW", self._sizes, strict=True)))
        self._sweeps = 0

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            for colour in (0, 1):
                numbers = (colour, *chances(TEMPERATURE), 2 * self._sweeps + colour, SEED)
                self._rung(self._spins, self._next_spins, *self._sizes, *numbers)
                self._spins, self._next_spins = self._next_spins, self._spins
            self._sweeps += 1

    def picture(self) -> Pixels:
        """One way 255, the other 0."""
        height, width = self._shape
        picture: Pixels = self._spins.numpy()[:height, :width] * np.uint8(255)
        return picture


def chances(temperature: float) -> tuple[int, int]:
    """Words below these turn a spin that agrees with three, or with all four, of its neighbours."""
    return int(2**32 * exp(-4 / temperature)), int(2**32 * exp(-8 / temperature))
