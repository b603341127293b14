"""2-D convolution of images with many channels, 3x3, stride 1, zeros outside: float16, NHWC, added up in float32."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size

LARGE = 500.0  # a weight beside which images for sums of 10^7 are float16, too
PIXELS = 1 << 13
"""How many pixels the reference takes at a time, where images are small: they stay in a cache."""


def convolved(images: Array, weights: Array) -> Array:
    """Sum over taps and channels of image [N, H, W, C] times weight [K, 3, 3, C], [N, H, W, K]; 0 outside an image."""
    count, height, width, channels = images.shape
    total = np.zeros((count, height, width, weights.shape[0]), images.dtype)
    step = max(1, PIXELS // max(1, height * width))
    with np.errstate(invalid="ignore"):
        for first in range(0, count, step):
            padded = np.pad(images[first : first + step], ((0, 0), (1, 1), (1, 1), (0, 0)))
            part = total[first : first + step]
            pixels = part.reshape(math.prod(part.shape[:3]), len(weights))  # one product, not one for each row
            for r in range(3):
                for s in range(3):
                    shifted = padded[:, r : r + height, s : s + width]
                    pixels += shifted.reshape(len(pixels), channels) @ weights[:, r, s].T
    return total


def reference(v: Values) -> dict[str, Array]:
    """convolved[n][y][x][k] = sum over r, s, c of images[n][y + r - 1][x + s - 1][c] weights[k][r][s][c]."""
    return {"convolved": convolved(v["images"], v["weights"])}


def magnitude(v: Values) -> dict[str, Array]:
    """The result, rounded once to 16 bits, and before that the random walk of sqrt(9 C) roundings of a float32 sum.

    In units of the result's own rounding, 2^-11, a rounding of float32 is 2^-13 of the sum of absolute values.
    """
    with np.errstate(invalid="ignore"):
        total = convolved(abs(v["images"]), abs(v["weights"]))
        terms = 9 * v["images"].shape[3]
        return {"convolved": abs(reference(v)["convolved"]) + total * terms**0.5 * 2.0**-13}


def finite_weights(v: Values) -> dict[str, Array]:
    """Weights that are numbers: Inf times a 0 outside is NaN for a kernel that multiplies, 0 for one that skips."""
    return {"weights": np.where(np.isfinite(v["weights"]), v["weights"], np.ones_like(v["weights"]))}


def long_sums(v: Values, draw: Generator) -> dict[str, Any]:
    """Terms of one sign: sums of hundreds, which float16 cannot keep adding to."""
    return {"images": abs(v["images"]), "weights": abs(v["weights"])}


def past_the_largest(v: Values, draw: Generator) -> dict[str, Any]:
    """Terms of one sign in each image, whose sums are far above the largest float16, or below it: Inf, and no other."""
    count, terms = v["images"].shape[0], 9 * v["images"].shape[3]
    sums = draw.choice([2e4, -2e4, 1e7, -1e7], (count, 1, 1, 1))  # a ninth of them in an image of one pixel
    images, weights = (draw.uniform(0.9, 1.1, v[name].shape) for name in ("images", "weights"))
    return {"images": images * sums / (LARGE * max(terms, 1)), "weights": weights * LARGE}


def cudnn(v: Values) -> object:
    """cuDNN through PyTorch, on tensors whose channels lie last in memory."""
    from torch.nn.functional import conv2d

    images, weights = (v[name].permute(0, 3, 1, 2) for name in ("images", "weights"))
    return conv2d(images, weights, padding=1)


problem = Problem(
    name="convolution_half",
    title="2-D convolution of images with channels, 3 by 3, zeros outside, float16 with float32 sums, NHWC",
    parameters=(
        array("images", "float16", "N", "H", "W", "C"),
        array("weights", "float16", "K", "3", "3", "C"),
        array("convolved", "float16", "N", "H", "W", "K", role="out"),
        size("N"),
        size("H"),
        size("W"),
        size("C"),
        size("K"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=finite_weights,
    terms="2",
    exact=True,
    zeros=("C",),
    without={
        "spikes": "a million is infinite in float16",
        "cancellation": "products of two numbers near a thousand are infinite in float16",
    },
    public=(
        {"N": 2, "H": 8, "W": 16, "C": 16, "K": 32},
        {"N": 1, "H": 5, "W": 7, "C": 11, "K": 13},
        {"N": 3, "H": 9, "W": 10, "C": 72, "K": 40},
        {"N": 1, "H": 1, "W": 1, "C": 1, "K": 1},
        # More than one tile of output channels, however wide; and rows that begin at odd places.
        {"N": 1, "H": 3, "W": 5, "C": 8, "K": 264},
        {"N": 5, "H": 2, "W": 3, "C": 24, "K": 137},
        {"N": 2, "H": 17, "W": 4, "C": 9, "K": 72},
    ),
    special={"sums of one sign": long_sums, "sums past float16": past_the_largest},
    largest={"N": 4, "H": 12, "W": 18, "C": 24, "K": 72},
    widest={"N": 70_000, "H": 66_000, "W": 70_000, "C": 2_500, "K": 5_000},
    tiles=(8, 16, 64),
    observed={"N": 4, "H": 16, "W": 16, "C": 64, "K": 128},
    timed={"N": 64, "H": 56, "W": 56, "C": 256, "K": 256},
    flops="18*N*H*W*C*K",
    bytes="2*(N*H*W*(C+K)+9*C*K)",
    pieces="N",
    peers={"cuDNN": Peer(cudnn)},
)
