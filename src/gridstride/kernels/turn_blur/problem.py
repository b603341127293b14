"""A picture turned by 18 degrees about its middle and blurred along its rows, float32.

Each result is a sum over k from -R to R of weights[k + R] times the picture at the point

  across  W/2 + (15 (x + k - W/2) - 5 (y - H/2)) / 16     with W/2 and H/2 as whole numbers,
  down    H/2 + (5 (x + k - W/2) + 15 (y - H/2)) / 16     a pixel at each whole number,

where the picture between four pixels is theirs, each by its nearness in both directions, and 0 outside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size

ALONG, ASIDE, ONE = 15, 5, 16  # cosine and sine in sixteenths: a float, and a texture unit, have them exactly


def between(image: Array, across: Array, down: Array) -> Array:
    """The picture at points in sixteenths of a pixel."""
    height, width = image.shape
    total = np.zeros(across.shape)
    for dy in (0, 1):
        for dx in (0, 1):
            column, row = across // ONE + dx, down // ONE + dy
            share = abs(1 - dx - across % ONE / ONE) * abs(1 - dy - down % ONE / ONE)
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            total += share * np.where(inside, image[row.clip(0, height - 1), column.clip(0, width - 1)], 0.0)
    return total


def reference(v: Values) -> dict[str, Array]:
    """The weighted sum, tap by tap."""
    height, width = v["image"].shape
    y, x = np.indices((height, width))
    y, x = y - height // 2, x - width // 2
    total = np.zeros((height, width))
    for k, weight in enumerate(v["weights"], start=-(len(v["weights"]) // 2)):
        across = ONE * (width // 2) + ALONG * (x + k) - ASIDE * y
        down = ONE * (height // 2) + ASIDE * (x + k) + ALONG * y
        total += weight * between(v["image"], across, down)
    return {"turned": total}


def magnitude(v: Values) -> dict[str, Array]:
    """The same with absolute values."""
    return reference({"image": abs(v["image"]), "weights": abs(v["weights"])})


def finite(v: Values) -> dict[str, Any]:
    """Numbers only: Inf times a nearness of 0 is NaN for a kernel that multiplies, 0 for one that skips."""
    return {name: np.where(np.isfinite(v[name]), v[name], np.float32(1)) for name in ("image", "weights")}


problem = Problem(
    name="turn_blur",
    title="A picture turned by 18 degrees and blurred along its rows, float32",
    parameters=(
        array("image", "float32", "H", "W"),
        array("weights", "float32", "2*R+1"),
        array("turned", "float32", "H", "W", role="out"),
        size("H"),
        size("W"),
        size("R"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="8*(2*R+1)",
    arrange=finite,
    public=(
        {"H": 32, "W": 64, "R": 2},
        {"H": 61, "W": 67, "R": 1},
        {"H": 19, "W": 131, "R": 5},
        {"H": 2, "W": 3, "R": 2},
        {"H": 1, "W": 1, "R": 1},
        {"H": 47, "W": 15, "R": 4},
    ),
    largest={"H": 90, "W": 140, "R": 7},
    widest={"H": 65_000, "W": 70_000, "R": 17},
    tiles=(4, 8, 32),
    observed={"H": 128, "W": 128, "R": 2},
    timed={"H": 2048, "W": 2048, "R": 2},
    flops="9*H*W*(2*R+1)",
    bytes="8*H*W+4*(2*R+1)",
)
