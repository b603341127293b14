"""Edges by Canny's method of a picture that is smooth already, 8-bit grey, in whole numbers: every answer is exact.

The gradient (gx, gy) is Sobel's, where beyond the picture the nearest pixel of its edge counts again. Its strength is
|gx| + |gy|, and 0 beyond the picture. A pixel is on a ridge where its strength is more than that of the neighbour
before it along the gradient and no less than that of the one behind it: left and right where 32768 |gy| < 13573 |gx|,
above and below where 32768 |gx| < 13573 |gy| (22.5 degrees), else above left and below right where gx gy > 0, or above
right and below left. On a ridge, a pixel of at least `high` is an edge, and so is one of at least `low` that touches an
edge, one of the eight around it, which may be one itself for that reason. Edges are 1, all else is 0. `low` is above 0
and no more than `high`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

SLOPE = 13_573  # of 22.5 degrees, in 32768ths


def gradients(image: Array) -> tuple[Array, Array]:
    """(gx, gy) of each pixel."""
    p = np.pad(image.astype(np.int64), 1, mode="edge")
    columns = p[:-2] + 2 * p[1:-1] + p[2:]
    rows = p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:]
    return columns[:, 2:] - columns[:, :-2], rows[2:] - rows[:-2]


def ridges(image: Array) -> Array:
    """The strength of each pixel that is on a ridge, 0 for all others."""
    gx, gy = gradients(image)
    strength = abs(gx) + abs(gy)
    padded = np.pad(strength, 1)
    height, width = strength.shape

    def beside(down: int, across: int) -> Array:
        return padded[1 + down : 1 + down + height, 1 + across : 1 + across + width]

    flat, steep = 32_768 * abs(gy) < SLOPE * abs(gx), 32_768 * abs(gx) < SLOPE * abs(gy)
    is_ridge = np.zeros(strength.shape, bool)
    for chosen, (down, across) in (
        (flat, (0, 1)),
        (steep & ~flat, (1, 0)),
        (~flat & ~steep & (gx * gy > 0), (1, 1)),
        (~flat & ~steep & (gx * gy <= 0), (1, -1)),
    ):
        is_ridge |= chosen & (strength > beside(-down, -across)) & (strength >= beside(down, across))
    return np.where(is_ridge, strength, 0)


def reference(v: Values) -> dict[str, Array]:
    """Edges grow along what is weak until they do not any more."""
    ridge = ridges(v["image"])
    edges, weak = ridge >= v["high"], ridge >= v["low"]
    while True:
        padded = np.pad(edges, 1)
        near = np.zeros_like(edges)
        for y, x in np.ndindex(3, 3):
            near |= padded[y : y + edges.shape[0], x : x + edges.shape[1]]
        grown = edges | (near & weak)
        if (grown == edges).all():
            return {"edges": edges.astype(np.uint8)}
        edges = grown


def in_order(v: Values) -> dict[str, Any]:
    """Both thresholds above 0, the low one no higher than the other."""
    low = 1 + abs(int(v["low"])) % 400
    return {"low": low, "high": low + abs(int(v["high"])) % 600}


def spiral(v: Values, draw: Generator) -> dict[str, Any]:
    """A line that turns about the middle and fades from there: weak all the way, one long edge by its bright end."""
    height, width = v["image"].shape
    y, x = np.mgrid[:height, :width] - np.array([height // 2, width // 2]).reshape(2, 1, 1)
    turn = (np.hypot(y, x) - 8 * np.arctan2(y, x) / (2 * np.pi)) % 8
    bright = np.where(np.hypot(y, x) < 6, 250, 90)
    return {"image": np.where(turn < 4, bright, 30).astype(np.uint8), "low": 150, "high": 500}


def smooth_hills(v: Values, draw: Generator) -> dict[str, Any]:
    """Noise on a coarse grid, straight between its points: long slopes of all directions and strengths."""
    height, width = v["image"].shape
    coarse = draw.integers(0, 256, (height // 8 + 2, width // 8 + 2))
    y, x = np.arange(height)[:, None], np.arange(width)[None]
    i, j, s, t = y // 8, x // 8, y % 8, x % 8
    hills = (8 - s) * ((8 - t) * coarse[i, j] + t * coarse[i, j + 1])
    hills = hills + s * ((8 - t) * coarse[i + 1, j] + t * coarse[i + 1, j + 1])
    return {"image": (hills // 64).astype(np.uint8), "low": 60, "high": 160}


problem = Problem(
    name="canny",
    title="Edges by Canny, 8-bit grey",
    parameters=(
        array("image", "uint8", "H", "W"),
        array("edges", "uint8", "H", "W", role="out"),
        array("work", "uint16", "3", "H", "W", role="scratch"),
        size("H"),
        size("W"),
        scalar("low", "int32"),
        scalar("high", "int32"),
    ),
    reference=reference,
    arrange=in_order,
    exact=True,
    special={"spiral": spiral, "smooth hills": smooth_hills},
    public=(
        {"H": 32, "W": 64},
        {"H": 61, "W": 67},
        {"H": 40, "W": 130},
        {"H": 3, "W": 2},
        {"H": 1, "W": 1},
        {"H": 1, "W": 70},
        {"H": 47, "W": 5},
    ),
    largest={"H": 70, "W": 100},
    widest={"H": 3_000, "W": 4_000},
    tiles=(8, 16, 32),
    observed={"H": 96, "W": 128},
    timed={"H": 2048, "W": 2048},
    flops="40*H*W",
    bytes="2*H*W",
)
