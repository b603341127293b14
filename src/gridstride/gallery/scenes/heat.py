"""Heat that spreads from warm and cold bodies in a plate whose edge is held at 0."""

from __future__ import annotations

import numpy as np

import gridstride as gs
from gridstride.gallery.palettes import indices
from gridstride.gallery.png import Pixels
from gridstride.gallery.rung import Rung

R = 0.24  # α Δt / Δx², just below the limit of stability
BODIES = 14


class Heat:
    """The field, and the memory of the next one."""

    def __init__(self, width: int, height: int) -> None:
        self._rung = Rung("heat", {"H": height, "W": width})
        self._sizes = (height, width)
        self._field = gs.to_device(bodies(width, height))
        self._next = gs.empty((height, width))

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            self._rung(self._field, self._next, *self._sizes, R)
            self._field, self._next = self._next, self._field

    def picture(self) -> Pixels:
        """Its root with its sign: what is faint is seen as well."""
        field = self._field.numpy()
        return indices(np.copysign(np.sqrt(abs(field)), field), -1, 1)


def bodies(width: int, height: int) -> np.ndarray:
    """Discs and squares of 1 and -1, the same for every size but for the scale."""
    draw = np.random.default_rng(4)
    y, x = np.mgrid[:height, :width]
    field = np.zeros((height, width), np.float32)
    for number in range(BODIES):
        across, down = draw.uniform(0.08, 0.92, 2) * (width, height)
        radius = draw.uniform(0.05, 0.14) * min(width, height)
        distance = np.hypot(x - across, y - down) if number % 3 else np.maximum(abs(x - across), abs(y - down))
        field[distance < radius] = 1 if number % 2 else -1
    field[[0, -1]] = field[:, [0, -1]] = 0
    return field
