"""The median of the nine pixels around each pixel, itself among them, 8-bit grey in and out: every answer is exact.

Beyond the picture the nearest pixel of its edge counts again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """The fifth of nine in order."""
    p = np.pad(v["image"].astype(np.int64), 1, mode="edge")
    height, width = v["image"].shape
    nine = np.stack([p[y : y + height, x : x + width] for y in range(3) for x in range(3)])
    return {"smooth": np.sort(nine, axis=0)[4].astype(np.uint8)}


def salt_and_pepper(v: Values, draw: Generator) -> dict[str, Any]:
    """Two shades of grey in squares, and one pixel in five black or white: what the filter is for."""
    height, width = v["image"].shape
    squares = draw.choice(np.array([90, 170], np.uint8), (height // 7 + 1, width // 7 + 1))
    clean = squares.repeat(7, 0).repeat(7, 1)[:height, :width]
    noise = draw.choice(np.array([0, 255], np.uint8), (height, width))
    return {"image": np.where(draw.random((height, width)) < 0.2, noise, clean)}


problem = Problem(
    name="median",
    title="Median of 3 by 3 pixels, 8-bit grey",
    parameters=(
        array("image", "uint8", "H", "W"),
        array("smooth", "uint8", "H", "W", role="out"),
        size("H"),
        size("W"),
    ),
    reference=reference,
    exact=True,
    special={"salt and pepper": salt_and_pepper},
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
    flops="38*H*W",
    bytes="2*H*W",
    pieces="H",
    halo=1,
)
