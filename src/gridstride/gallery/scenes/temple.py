"""A small round temple of signed distances: rays from the eye that come to rest on it, and the light there."""

from __future__ import annotations

import numpy as np

import gridstride as gs
from gridstride.gallery.png import Pixels
from gridstride.gallery.rung import Rung

COLUMNS = 11
EYE, AT, UPRIGHT = np.array([1.2, 1.5, 6.2]), np.array([0.0, 0.75, 0.0]), np.array([0.0, 1.0, 0.0])
HALF_HEIGHT = 0.36  # of the picture, one away from the eye
FAR = 30.0  # where a ray has left the scene
SOLID = 100.0  # a wall as thick as this has no hollow in it
SUN, SHADE = np.array([1.0, 0.87, 0.66]), np.array([0.10, 0.12, 0.22])
SKY, ZENITH = np.array([0.93, 0.89, 0.82]), np.array([0.42, 0.60, 0.80])
MIST = 0.03  # of the sky's colour, for each unit of depth


class Temple:
    """How far each ray has come, and the light where it is."""

    def __init__(self, width: int, height: int) -> None:
        scene = bodies()
        self._count, self._shape = len(scene), (height, width)
        self._rung = Rung("sdf_shader", {"n": self._count, "H": height, "W": width})
        self._bodies, self._camera = gs.to_device(scene), gs.to_device(camera(width / height))
        self._start, self._depth = gs.zeros(self._shape), gs.zeros(self._shape)
        self._light = gs.zeros(self._shape)

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            self._start, self._depth = self._depth, self._start
            args = (self._bodies, self._camera, self._start, self._depth, self._light)
            self._rung(*args, self._count, *self._shape)

    def picture(self) -> Pixels:
        """Sunlight and shade on stone, fainter with the depth; sky where a ray has left."""
        depth, light = (a.numpy().astype(np.float64)[..., None] for a in (self._depth, self._light))
        high = np.linspace(1, 0, self._shape[0])[:, None, None]
        sky = SKY + high * (ZENITH - SKY)
        stone = SHADE + light * SUN
        clear = np.where(depth < FAR, np.exp(-MIST * np.maximum(depth - 3, 0)), 0)
        picture: Pixels = np.rint(255 * (sky + clear * (stone - sky)).clip(0, 1)).astype(np.uint8)
        return picture


def camera(aspect: float) -> np.ndarray:
    """(4, 3): the eye, forward, right and down, for a picture so many times as wide as high."""
    forward = (AT - EYE) / np.linalg.norm(AT - EYE)
    right = np.cross(forward, UPRIGHT)
    right /= np.linalg.norm(right)
    down = np.cross(forward, right)
    return np.array([EYE, forward, HALF_HEIGHT * aspect * right, HALF_HEIGHT * down], np.float32)


def bodies() -> np.ndarray:
    """(n, 8): steps, columns in a circle with their capitals, a roof of slabs, and what stands within."""
    steps = [(0, -0.1 * k, 0, 0.05, 1.9 + 0.3 * k, 0.04, 1.9 + 0.3 * k, SOLID) for k in range(3)]
    ground = [(0, -0.45, 0, 0.05, 40.0, 0.1, 40.0, SOLID)]
    angles = 2 * np.pi * np.arange(COLUMNS) / COLUMNS
    columns = [(1.6 * np.sin(a), 0.75, 1.6 * np.cos(a), 0.13, 0, 0.65, 0, SOLID) for a in angles]
    capitals = [(1.6 * np.sin(a), 1.5, 1.6 * np.cos(a), 0.03, 0.17, 0.05, 0.17, SOLID) for a in angles]
    roof = [(0, 1.68, 0, 0.06, 1.75, 0.05, 1.75, SOLID), (0, 1.9, 0, 0.1, 1.3, 0.02, 1.3, SOLID),
            (0, 2.0, 0, 0.44, 0.6, 0.1, 0.6, SOLID)]  # fmt: skip
    within = [(0, 0.25, 0, 0.04, 0.35, 0.2, 0.35, SOLID), (0, 0.83, 0, 0.36, 0, 0, 0, SOLID)]
    return np.array([*steps, *ground, *columns, *capitals, *roof, *within], np.float32)
