"""The linear layer of decoding: few rows of x against a whole weight matrix, y = x W^T + bias."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size

WAY = 1 << 16  # more than the largest float16
LARGE = 500.0  # a factor beside which the other one of 10^7 is a float16, too


def reference(v: Values) -> dict[str, Array]:
    """y[m][n] = sum over k of x[m][k] weight[n][k], plus bias[n]."""
    return {"y": v["x"] @ v["weight"].T + v["bias"]}


def magnitude(v: Values) -> dict[str, Array]:
    """The result, rounded once to 16 bits, and before that the random walk of sqrt(K) roundings of a float32 sum.

    In units of the result's own rounding, 2^-11, a rounding of float32 is 2^-13 of the sum of absolute values.
    """
    with np.errstate(invalid="ignore"):
        total = abs(v["x"]) @ abs(v["weight"]).T + abs(v["bias"])
        return {"y": abs(reference(v)["y"]) + total * v["x"].shape[1] ** 0.5 * 2.0**-13}


def long_sums(v: Values, draw: Generator) -> dict[str, Any]:
    """Terms of one sign: sums of hundreds, which float16 cannot keep adding to."""
    return {"x": abs(v["x"]), "weight": abs(v["weight"])}


def there_and_back(v: Values, draw: Generator) -> dict[str, Any]:
    """Terms of one sign, then as many of the other: on the way the sum is more than float16 holds, in the end not."""
    terms = v["x"].shape[1]
    size = min((8.0 * WAY / max(terms, 1)) ** 0.5, 200.0)
    signs = np.where(np.arange(terms) < terms - terms // 2, 1.0, -1.0)
    first, second = (draw.uniform(0.9, 1.1, v[name].shape) * size for name in ("x", "weight"))
    return {"x": first * signs, "weight": second}


def past_the_largest(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows of x of one sign, whose sums are far above the largest float16, or far below it: Inf, and no other."""
    rows, terms = v["x"].shape
    sums = draw.choice([2e4, -2e4, 1e5, -1e5, 1e7, -1e7], (rows, 1))
    near = {name: draw.uniform(0.9, 1.1, v[name].shape) for name in ("x", "weight")}
    return {"x": near["x"] * sums / (LARGE * max(terms, 1)), "weight": near["weight"] * LARGE}


def brought_back(v: Values, draw: Generator) -> dict[str, Any]:
    """Products whose sum alone is past the largest float16, and a bias that brings it back: y is a number."""
    terms, sign = v["x"].shape[1], draw.choice([-1.0, 1.0])
    x, weight, bias = (draw.uniform(0.9, 1.1, v[name].shape) for name in ("x", "weight", "bias"))
    return {"x": x * sign * 8e4 / (LARGE * terms), "weight": weight * LARGE, "bias": -sign * 5.5e4 * bias}


def cublas(v: Values) -> object:
    """cuBLAS through PyTorch."""
    import torch

    return torch.addmm(v["bias"], v["x"], v["weight"].T, out=v["y"])


problem = Problem(
    name="skinny_gemm",
    title="Linear layer for few rows, y = x W^T + bias, float16",
    parameters=(
        array("x", "float16", "M", "32*steps"),
        array("weight", "float16", "N", "32*steps"),
        array("bias", "float16", "N"),
        array("y", "float16", "M", "N", role="out"),
        size("M"),
        size("N"),
        size("steps"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="2",
    exact=True,
    without={
        "spikes": "a million is infinite in float16",
        "cancellation": "products of two numbers near a thousand are infinite in float16",
    },
    public=(
        {"M": 8, "N": 128, "steps": 8},
        {"M": 5, "N": 77, "steps": 3},
        {"M": 33, "N": 140, "steps": 5},
        {"M": 3, "N": 20, "steps": 75},
        {"M": 1, "N": 1, "steps": 1},
    ),
    special={
        "sums of one sign": long_sums,
        "sums past float16 and back": there_and_back,
        "sums past float16": past_the_largest,
        "sums that the bias brings back": brought_back,
    },
    widest={"N": 70_000, "steps": 140},
    largest={"M": 36, "N": 150, "steps": 20},
    tiles=(8, 16, 32, 64, 128),
    observed={"M": 32, "N": 512, "steps": 32},
    timed={"M": 32, "N": 4096, "steps": 32},
    flops="2*M*N*32*steps",
    bytes="64*steps*(M+N)+2*N+2*M*N",
    peers={"cuBLAS": Peer(cublas)},
    alignment=16,  # the op checks it
)
