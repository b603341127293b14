"""Colour to grey: Rec. 601 luma of 8-bit RGB pixels, in whole-number arithmetic, so that every answer is exact.

gray = (77 R + 150 G + 29 B + 128) / 256, rounded down.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, size

WEIGHTS = np.array([77, 150, 29])  # 0.299, 0.587 and 0.114 in 1/256; their sum is 256


def reference(v: Values) -> dict[str, Array]:
    """gray = (77 R + 150 G + 29 B + 128) >> 8."""
    return {"gray": ((v["rgb"] @ WEIGHTS + 128) >> 8).astype(np.uint8)}


def one_channel(v: Values, draw: Generator) -> dict[str, Any]:
    """Pixels of one pure colour, as bright as they get: each weight by itself."""
    return {"rgb": 255 * np.eye(3, dtype=np.uint8)[draw.integers(0, 3, v["rgb"].shape[:2])]}


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
    widest={"H": 65_000, "W": 70_000},
    special={"pure colours": one_channel},
    tiles=(8, 32, 64, 128),
    observed={"H": 128, "W": 256},
    timed={"H": 16_384, "W": 16_384},
    flops="6*H*W",
    bytes="4*H*W",
    pieces="H",
)
