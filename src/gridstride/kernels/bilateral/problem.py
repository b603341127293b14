"""The bilateral filter of a picture, float32: a mean of 5 by 5 pixels, weighed by how near and how alike they are.

    smooth = sum of w q / sum of w      w = exp(-near (dx² + dy²) - alike (q - p)²)

of a pixel p and those around it, q. Beyond the picture the nearest pixel of its edge counts again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

RADIUS = 2


def weighed(v: Values) -> Iterator[tuple[Array, Array]]:
    """The weights and values of each of the 25 pixels around all."""
    image = v["image"]
    height, width = image.shape
    padded = np.pad(image, RADIUS, mode="edge")
    for y, x in np.ndindex(2 * RADIUS + 1, 2 * RADIUS + 1):
        neighbour = padded[y : y + height, x : x + width]
        squared_distance = (y - RADIUS) ** 2 + (x - RADIUS) ** 2
        yield np.exp(-v["near"] * squared_distance - v["alike"] * (neighbour - image) ** 2), neighbour


def reference(v: Values) -> dict[str, Array]:
    """The weighted mean; the pixel's own weight is 1."""
    weights, values = (np.stack(columns) for columns in zip(*weighed(v), strict=True))
    return {"smooth": (weights * values).sum(0) / weights.sum(0)}


def magnitude(v: Values) -> dict[str, Array]:
    """The same of absolute values, twice: an exponent e has a rounding of e, and e exp(-e) is below 1."""
    weights, values = (np.stack(columns) for columns in zip(*weighed(v), strict=True))
    return {"smooth": 2 * (weights * abs(values)).sum(0) / weights.sum(0)}


def positive(v: Values) -> dict[str, Any]:
    """Both numbers between 0 and 1, and pixels whose squares a float holds."""

    def squashed(name: str) -> float:
        return float(np.float32(abs(v[name]) / (1 + abs(v[name]))))

    return {"near": squashed("near"), "alike": squashed("alike")}


def noisy_steps(v: Values, draw: Generator) -> dict[str, Any]:
    """Squares of two values with a little noise: what is alike is far from what is not."""
    height, width = v["image"].shape
    squares = draw.choice(np.array([0.0, 10.0]), (height // 6 + 1, width // 6 + 1))
    clean = squares.repeat(6, 0).repeat(6, 1)[:height, :width]
    noise = 0.3 * draw.standard_normal((height, width))
    return {"image": (clean + noise).astype(np.float32), "near": 0.1, "alike": 0.5}


problem = Problem(
    name="bilateral",
    title="Bilateral filter of 5 by 5 pixels, float32",
    parameters=(
        array("image", "float32", "H", "W"),
        array("smooth", "float32", "H", "W", role="out"),
        size("H"),
        size("W"),
        scalar("near"),
        scalar("alike"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=positive,
    special={"noisy steps": noisy_steps},
    terms="27",
    without={"nonfinite": "what an infinite pixel weighs beside another hangs on how the exponent is bracketed"},
    public=(
        {"H": 32, "W": 64},
        {"H": 61, "W": 67},
        {"H": 40, "W": 130},
        {"H": 3, "W": 2},
        {"H": 1, "W": 1},
        {"H": 1, "W": 132},
        {"H": 47, "W": 5},
    ),
    largest={"H": 70, "W": 140},
    widest={"H": 65_000, "W": 70_000},
    tiles=(8, 16, 32),
    observed={"H": 96, "W": 256},
    timed={"H": 8192, "W": 8192},
    flops="225*H*W",
    bytes="8*H*W",
    pieces="H",
    halo=2,
)
