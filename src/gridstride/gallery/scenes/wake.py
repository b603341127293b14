"""Flow past a cylinder: vortices that leave it on either side in turn."""

from __future__ import annotations

import numpy as np

import gridstride as gs
from gridstride.gallery.palettes import indices
from gridstride.gallery.png import Pixels
from gridstride.gallery.rung import Rung
from gridstride.kernels.lattice_boltzmann.problem import CX, CY, OPEN, WALL, equilibrium

SPEED = 0.1  # of the flow, cells a step
REYNOLDS = 150  # of the cylinder's diameter
ACROSS = 6.5  # diameters of the cylinder that the picture is high
BRIGHT = 1.6  # vorticity, in speeds of the flow for a radius, that has the last colours
WALL_INDEX = 255


class Wake:
    """Nine populations for each cell; the first column is held at the speed of the flow."""

    def __init__(self, width: int, height: int) -> None:
        self._sizes = (height, width)
        diameter = height / ACROSS
        y, x = np.mgrid[:height, :width]
        self._wall = np.hypot(x - width / 5, y - height / 2 + 0.4) < diameter / 2
        kinds = np.where(self._wall, WALL, 0).astype(np.uint8)
        kinds[:, 0] = OPEN
        sideways = SPEED / 10 * np.sin(2 * np.pi * x / width)  # or the wake stays even for thousands of steps
        f = np.stack(equilibrium(np.ones((height, width)), np.where(self._wall, 0.0, SPEED), sideways))
        self._omega = 1 / (3 * SPEED * diameter / REYNOLDS + 0.5)
        self._radius = diameter / 2
        self._rung = Rung("lattice_boltzmann", {"H": height, "W": width})
        self._f, self._kinds = gs.to_device(f.astype(np.float32)), gs.to_device(kinds)
        self._next_f = gs.empty((9, height, width))

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            self._rung(self._f, self._kinds, self._next_f, *self._sizes, self._omega, SPEED, 0.0)
            self._f, self._next_f = self._next_f, self._f

    def picture(self) -> Pixels:
        """Vorticity, one way blue and the other way red; the cylinder dark."""
        f = self._f.numpy().astype(np.float64)
        rho = f.sum(0)
        ux, uy = (np.tensordot(axis, f, 1) / rho for axis in (CX, CY))
        turning = (np.roll(uy, -1, 1) - np.roll(uy, 1, 1) - np.roll(ux, -1, 0) + np.roll(ux, 1, 0)) / 2
        turning[:, [0, -1]] = 0.0
        picture = np.minimum(indices(turning * self._radius / SPEED, -BRIGHT, BRIGHT), WALL_INDEX - 1)
        picture[self._wall] = WALL_INDEX
        return picture
