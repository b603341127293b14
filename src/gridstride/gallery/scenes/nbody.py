"""Two discs of stars, each around a heavy body, that meet and draw out each other's arms."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gridstride as gs
from gridstride.gallery.palettes import indices
from gridstride.gallery.png import Pixels
from gridstride.gallery.rung import Rung

STARS = 3072  # of each disc, the heavy body among them
DT = 0.01
SOFTENING = 0.01  # e², of distances squared
HEAVY, LIGHT = 1.0, 1e-5  # masses
VIEW = 4.4  # height of what is seen
BLOCK = 128
BRIGHT = 8.0  # stars on a pixel that are white


class NBody:
    """Positions with masses, velocities half a step behind, and the memory of accelerations."""

    def __init__(self, width: int, height: int) -> None:
        self._shape = (height, width)
        first, second = (
            disc(1, (-1.3, -0.45, 0.0), (0.42, 0.0, 0.0), 0.5),
            disc(2, (1.3, 0.45, 0.0), (-0.42, 0, 0), 1.1),
        )
        bodies, velocities = (np.concatenate(pair) for pair in zip(first, second, strict=True))
        self._count = len(bodies)
        self._bodies, self._velocities = gs.to_device(bodies), gs.to_device(velocities)
        self._accelerations = gs.zeros((self._count, 3))
        self._pull = Rung("nbody", {"m": self._count, "n": self._count})
        self._leap = gs.cuda(Path(__file__).with_suffix(".cu"))["leap"]

    def advance(self, steps: int) -> None:
        grid = -(-self._count // BLOCK)
        for _ in range(steps):
            self._pull(self._bodies, self._bodies, self._accelerations, self._count, self._count, SOFTENING)
            self._leap[grid, BLOCK](self._bodies, self._velocities, self._accelerations, self._count, DT)

    def picture(self) -> Pixels:
        """Stars on each pixel, those of the pixels around for a part."""
        height, width = self._shape
        x, y = self._bodies.numpy()[:, :2].T.astype(np.float64) * height / VIEW
        column, row = np.floor(width / 2 + x).astype(int), np.floor(height / 2 - y).astype(int)
        visible = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        stars = np.zeros((height + 2, width + 2))
        np.add.at(stars, (row[visible] + 1, column[visible] + 1), 1.0)
        neighbours = stars[:-2, 1:-1] + stars[2:, 1:-1] + stars[1:-1, :-2] + stars[1:-1, 2:]
        return indices(np.log1p(stars[1:-1, 1:-1] + neighbours / 4), 0, np.log1p(BRIGHT))


def disc(seed: int, centre: tuple[float, ...], speed: tuple[float, ...], tilt: float) -> tuple[np.ndarray, np.ndarray]:
    """(n, 4) bodies and (n, 3) velocities: a heavy body, and light ones on circles around it, in a tilted plane."""
    draw = np.random.default_rng(seed)
    radius = np.concatenate(([0.0], draw.uniform(0.15, 0.9, STARS - 1)))
    angle = draw.uniform(0, 2 * np.pi, STARS)
    circular = np.sqrt(HEAVY * radius**2 / (radius**2 + SOFTENING) ** 1.5)
    across = np.array([np.cos(tilt), 0.0, np.sin(tilt)])
    along = np.array([0.0, 1.0, 0.0])
    cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None]
    bodies = np.empty((STARS, 4), np.float32)
    bodies[:, :3] = np.array(centre) + radius[:, None] * (cosine * across + sine * along)
    bodies[:, 3] = LIGHT
    bodies[0, 3] = HEAVY
    velocities = np.array(speed) + circular[:, None] * (cosine * along - sine * across)
    return bodies, velocities.astype(np.float32)
