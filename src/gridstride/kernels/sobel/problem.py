"""Edges of a picture by Sobel's two filters, 8-bit grey in and out, in whole numbers, so that every answer is exact.

    gx = (ne + 2 e + se) - (nw + 2 w + sw)      gy = (sw + 2 s + se) - (nw + 2 n + ne)
    edge = (|gx| + |gy| + 4) / 8, rounded down

of the eight pixels around each; beyond the picture the nearest pixel of its edge counts again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, size


def gradients(image: Array) -> tuple[Array, Array]:
    """(gx, gy) of each pixel."""
    p = np.pad(image.astype(np.int64), 1, mode="edge")
    columns = p[:-2] + 2 * p[1:-1] + p[2:]
    rows = p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:]
    return columns[:, 2:] - columns[:, :-2], rows[2:] - rows[:-2]


def reference(v: Values) -> dict[str, Array]:
    """A norm of the gradient, scaled so that the largest is 255."""
    gx, gy = gradients(v["image"])
    return {"edges": ((abs(gx) + abs(gy) + 4) >> 3).astype(np.uint8)}


def steps(v: Values, draw: Generator) -> dict[str, Any]:
    """Black and white only, in squares: the largest gradients there are, of both signs, and nothing between them."""
    height, width = v["image"].shape
    squares = draw.integers(0, 2, (height // 3 + 1, width // 3 + 1), np.uint8) * np.uint8(255)
    return {"image": squares.repeat(3, 0).repeat(3, 1)[:height, :width]}


problem = Problem(
    name="sobel",
    title="Edges by Sobel, 8-bit grey",
    parameters=(
        array("image", "uint8", "H", "W"),
        array("edges", "uint8", "H", "W", role="out"),
        size("H"),
        size("W"),
    ),
    reference=reference,
    exact=True,
    special={"steps": steps},
    public=(
        {"H": 32, "W": 128},
        {"H": 61, "W": 67},
        {"H": 40, "W": 260},
        {"H": 3, "W": 2},
        {"H": 1, "W": 1},
        {"H": 1, "W": 132},
        {"H": 47, "W": 5},
    ),
    largest={"H": 130, "W": 300},
    widest={"H": 65_000, "W": 70_000},
    tiles=(4, 8, 16, 32, 128),
    observed={"H": 128, "W": 512},
    timed={"H": 16_384, "W": 16_384},
    flops="14*H*W",
    bytes="2*H*W",
    pieces="H",
    halo=1,
)
