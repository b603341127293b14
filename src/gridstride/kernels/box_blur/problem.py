"""Box blur: the mean of the 5x5 window around each pixel, over the part of the window that lies in the image."""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size

RADIUS = 2  # pixels to each side


def window_sums(image: Array) -> Array:
    """Sum of each pixel's window; outside the image there is nothing to add."""
    height, width = image.shape
    padded = np.pad(image, RADIUS)
    shifts = range(2 * RADIUS + 1)
    total: Array = sum((padded[r : r + height, c : c + width] for r in shifts for c in shifts), np.zeros_like(image))
    return total


def reference(v: Values) -> dict[str, Array]:
    """Sum of the window over the number of its pixels in the image."""
    return {"blurred": window_sums(v["image"]) / window_sums(np.ones_like(v["image"]))}


def magnitude(v: Values) -> dict[str, Array]:
    """The same mean of absolute values."""
    return reference({"image": abs(v["image"])})


def torch_pool(v: Values) -> object:
    """PyTorch's average pooling with the same border rule."""
    from torch.nn.functional import avg_pool2d

    return avg_pool2d(v["image"][None, None], 5, stride=1, padding=RADIUS, count_include_pad=False)


problem = Problem(
    name="box_blur",
    title="Box blur 5×5, float32",
    parameters=(
        array("image", "float32", "H", "W"),
        array("blurred", "float32", "H", "W", role="out"),
        size("H"),
        size("W"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="25",
    public=(
        {"H": 32, "W": 64},
        {"H": 61, "W": 67},
        {"H": 131, "W": 40},
        {"H": 3, "W": 2},
        {"H": 1, "W": 1},
        {"H": 47, "W": 15},  # these two tell vectors that begin one element off
        {"H": 1, "W": 129},
    ),
    largest={"H": 150, "W": 130},
    widest={"H": 65_000, "W": 70_000},
    tiles=(8, 16, 32, 128),
    observed={"H": 128, "W": 256},
    timed={"H": 8192, "W": 8192},
    flops="26*H*W",
    bytes="8*H*W",
    pieces="H",
    halo=RADIUS,
    peers={"torch.avg_pool2d": Peer(torch_pool)},
)
