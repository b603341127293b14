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
POINTS = 1 << 14
"""How many points of a picture the reference looks up at a time."""


def between(framed: Array, across: Array, down: Array) -> Array:
    """The picture in a frame of one pixel of 0, at points in sixteenths of a pixel."""
    height, width = (extent - 2 for extent in framed.shape)
    columns, rows = across // ONE, down // ONE
    right, below = across % ONE / ONE, down % ONE / ONE
    total = np.zeros(across.shape)
    for dy, down_share in ((0, 1 - below), (1, below)):
        starts = (rows + (dy + 1)).clip(0, height + 1) * (width + 2)
        for dx, across_share in ((0, 1 - right), (1, right)):
            total += across_share * down_share * framed.take(starts + (columns + (dx + 1)).clip(0, width + 1))
    return total


def reference(v: Values) -> dict[str, Array]:
    """The weighted sum, tap by tap, for as many rows at a time as a cache holds."""
    height, width = v["image"].shape
    total, framed = np.zeros((height, width)), np.pad(v["image"], 1)
    step = max(1, POINTS // max(width, 1))
    for first in range(0, height, step):
        y, x = np.ogrid[first : min(first + step, height), :width]
        y, x = y - height // 2, x - width // 2
        for k, weight in enumerate(v["weights"], start=-(len(v["weights"]) // 2)):
            across = ONE * (width // 2) + ALONG * (x + k) - ASIDE * y
            down = ONE * (height // 2) + ASIDE * (x + k) + ALONG * y
            total[first : first + step] += weight * between(framed, across, down)
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
