"""2-D convolution as networks have it (cross-correlation): every plane of a stack with one small filter, 0 outside."""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def correlated(planes: Array, weights: Array) -> Array:
    """Sum over the window of weight times pixel, for each pixel of each plane; what lies outside a plane is 0."""
    taps = weights.shape[0]
    height, width = planes.shape[1:]
    padded = np.pad(planes, ((0, 0), (taps // 2, taps // 2), (taps // 2, taps // 2)))
    total = np.zeros_like(planes)
    for r in range(taps):
        for c in range(taps):
            total += weights[r, c] * padded[:, r : r + height, c : c + width]
    return total


def reference(v: Values) -> dict[str, Array]:
    """filtered[p][y][x] = sum over r, c of weights[r][c] image[p][y + r - R][x + c - R]."""
    return {"filtered": correlated(v["image"], v["weights"])}


def magnitude(v: Values) -> dict[str, Array]:
    """The same with absolute values."""
    return {"filtered": correlated(abs(v["image"]), abs(v["weights"]))}


def finite_weights(v: Values) -> dict[str, Array]:
    """Weights that are numbers: Inf times a 0 outside is NaN for a kernel that multiplies, 0 for one that skips."""
    return {"weights": np.where(np.isfinite(v["weights"]), v["weights"], np.ones_like(v["weights"]))}


def torch_conv2d(v: Values) -> object:
    """cuDNN through PyTorch, in full float32 (no tf32), each plane a picture of one channel."""
    import torch
    from torch.nn.functional import conv2d

    torch.backends.cudnn.allow_tf32 = False
    return conv2d(v["image"][:, None], v["weights"][None, None], padding=v["weights"].shape[0] // 2)


problem = Problem(
    name="convolution",
    title="2-D convolution of planes with one filter of 2R + 1 by 2R + 1, zeros outside, float32",
    parameters=(
        array("image", "float32", "P", "H", "W"),
        array("weights", "float32", "2*R+1", "2*R+1"),
        array("filtered", "float32", "P", "H", "W", role="out"),
        size("P"),
        size("H"),
        size("W"),
        size("R"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=finite_weights,
    terms="(2*R+1)*(2*R+1)",
    exact=True,
    public=(
        {"P": 2, "H": 32, "W": 64, "R": 2},
        {"P": 1, "H": 61, "W": 67, "R": 1},
        {"P": 3, "H": 37, "W": 40, "R": 3},
        {"P": 2, "H": 19, "W": 131, "R": 5},
        {"P": 5, "H": 2, "W": 3, "R": 2},
        {"P": 1, "H": 1, "W": 1, "R": 1},
        {"P": 2, "H": 47, "W": 15, "R": 4},
        # Large enough for pieces that touch no edge of the plane.
        {"P": 1, "H": 198, "W": 392, "R": 2},
        {"P": 1, "H": 195, "W": 260, "R": 1},
    ),
    largest={"P": 8, "H": 90, "W": 140, "R": 7},
    widest={"P": 60_000, "H": 65_000, "W": 70_000, "R": 17},
    tiles=(8, 16, 32, 128),
    observed={"P": 1, "H": 576, "W": 1024, "R": 2},
    timed={"P": 8, "H": 4096, "W": 4096, "R": 2},
    flops="2*P*H*W*(2*R+1)*(2*R+1)",
    bytes="8*P*H*W+4*(2*R+1)*(2*R+1)",
    pieces="P",
    peers={"torch.conv2d": Peer(torch_conv2d)},
)
