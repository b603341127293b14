"""A cloud of stars with little to hold it up, which falls together by its own weight, in clumps first."""

from __future__ import annotations

import numpy as np

import gridstride as gs
from gridstride.gallery.palettes import indices
from gridstride.gallery.png import Pixels
from gridstride.gallery.rung import Rung
from gridstride.kernels.barnes_hut.problem import EDGE, morton, tree

STARS = 6000
RADIUS = 430.0
DT = 1.0
STEPS_OF_FALL = 110  # until a cloud at rest, alike all over, would be in one point
OPENING = 1 / 0.8**2
SOFTENING = 25.0
BRIGHT = 6.0  # stars on a pixel that are white


class Collapse:
    """Positions in the root's cube and velocities; the tree is grown anew for each step, on the host."""

    def __init__(self, width: int, height: int) -> None:
        self._shape = (height, width)
        self._places, self._velocities = cloud()
        self._mass = RADIUS**3 * np.pi**2 / (8 * (STEPS_OF_FALL * DT) ** 2) / STARS  # G = 1
        self._rung = Rung("barnes_hut", {"m": STARS, "n": 2 * STARS})
        self._bodies, self._accelerations = gs.empty((STARS, 4)), gs.empty((STARS, 3))
        self._tree = [gs.empty((2 * STARS, 4)), gs.empty((2 * STARS, 4)), gs.empty((2 * STARS,), "int32")]

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            self._places += self._velocities * (DT / 2)
            self._velocities += self._pull() * DT
            self._places += self._velocities * (DT / 2)

    def _pull(self) -> np.ndarray:
        """Accelerations, from where stars are to a whole number."""
        bodies = np.column_stack((self._places.round().clip(0, EDGE - 1), np.full(STARS, self._mass)))
        order = np.argsort(morton(bodies), kind="stable")
        grown = tree(bodies, 2 * STARS)
        for array, name in zip(self._tree, ("nodes", "cells", "next"), strict=True):
            array.copy_from(grown[name])
        self._bodies.copy_from(bodies[order].astype(np.float32))
        self._rung(self._bodies, *self._tree, self._accelerations, STARS, 2 * STARS, OPENING, SOFTENING)
        result = np.empty((STARS, 3))
        result[order] = self._accelerations.numpy()
        return result

    def picture(self) -> Pixels:
        """Stars on each pixel, those of the pixels around for a part."""
        height, width = self._shape
        x, y = (self._places[:, :2].T - EDGE / 2) * (height / EDGE)
        column, row = np.floor(width / 2 + x).astype(int), np.floor(height / 2 - y).astype(int)
        seen = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        stars = np.zeros((height + 2, width + 2))
        np.add.at(stars, (row[seen] + 1, column[seen] + 1), 1.0)
        beside = stars[:-2, 1:-1] + stars[2:, 1:-1] + stars[1:-1, :-2] + stars[1:-1, 2:]
        return indices(np.log1p(stars[1:-1, 1:-1] + beside / 3), 0, np.log1p(BRIGHT))


def cloud() -> tuple[np.ndarray, np.ndarray]:
    """(STARS, 3) places in a ball, drawn together here and there by waves, and velocities: it turns a little."""
    draw = np.random.default_rng(7)
    way = draw.standard_normal((STARS, 3))
    places = way / np.linalg.norm(way, axis=1)[:, None] * RADIUS * np.cbrt(draw.random(STARS))[:, None]
    start = places.copy()
    for _ in range(60):
        wave = draw.standard_normal(3)
        wave *= 2 * np.pi / np.linalg.norm(wave) / draw.uniform(120, 400)  # one length in so many units
        size = 4.0 * 2 * np.pi / np.linalg.norm(wave) / 300
        places += size * wave / np.linalg.norm(wave) * np.sin(start @ wave + draw.uniform(0, 2 * np.pi))[:, None]
    turn = np.array([0.25, 0.15, 1.0]) * 0.006
    return places * 0.97 + EDGE / 2, np.cross(turn, places)
