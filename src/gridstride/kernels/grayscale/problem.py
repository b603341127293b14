"""Colour to grey: Rec. 601 luma of 8-bit RGB pixels, in whole-number arithmetic, so that every answer is exact."""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size

WEIGHTS = np.array([77, 150, 29])  # 0.299, 0.587 and 0.114 in 1/256; their sum is 256


def reference(v: Values) -> dict[str, Array]:
    """Weighted sum of red, green and blue, rounded to the nearest."""
    return {"gray": ((v["rgb"] @ WEIGHTS + 128) >> 8).astype(np.uint8)}


problem = Problem(
    name="grayscale",
    title="Colour to grey, 8-bit RGB",
    parameters=(
        array("rgb", "uint8", "H", "W", "3"),
        array("gray", "uint8", "H", "W", role="out"),
        size("H"),
        size("W"),
    ),
    reference=reference,
    terms="3",
    exact=True,
    public=({"H": 32, "W": 64}, {"H": 61, "W": 67}, {"H": 7, "W": 331}, {"H": 1, "W": 1}),
    largest={"H": 130, "W": 150},
    tiles=(8, 32, 64, 128),
    observed={"H": 128, "W": 256},
    timed={"H": 16_384, "W": 16_384},
    flops="6*H*W",
    bytes="4*H*W",
    pieces="H",
)
