"""Layer norm of each row: y = (x - mean) rstd weight + bias, with rstd = 1 / sqrt(variance + eps) and the variance the
mean square of x - mean. The backward pass needs mean and rstd again. An Inf or NaN makes all of its row's y NaN. eps is
from 1e-20 to 0.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, scalar, size


def _row_values(v: Values) -> tuple[Array, Array, Array]:
    """x less its mean, the mean and rstd, the last two as columns."""
    mean = np.mean(v["x"], axis=-1, keepdims=True)
    centred = v["x"] - mean
    return centred, mean, 1 / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + v["eps"])


def reference(v: Values) -> dict[str, Array]:
    """Each row by itself, the variance from what is left when the mean is taken away."""
    centred, mean, rstd = _row_values(v)
    return {"y": centred * rstd * v["weight"] + v["bias"], "mean": mean[:, 0], "rstd": rstd[:, 0]}


def magnitude(v: Values) -> dict[str, Array]:
    """The mean's errors are in proportion to mean |x|, rstd's to that over the deviation: the variance's condition.

    Both are sums over the row that y multiplies with, and bias may take away all but their errors: hence the root.
    """
    centred, _, rstd = _row_values(v)
    mean = np.mean(abs(v["x"]), axis=-1, keepdims=True)
    condition = 1 + mean * rstd
    y = (abs(v["x"]) + mean + abs(centred) * condition) * rstd * abs(v["weight"])
    return {
        "y": np.sqrt(max(1, v["x"].shape[-1])) * y + abs(v["bias"]),
        "mean": mean[:, 0],
        "rstd": (rstd * condition)[:, 0],
    }


EPSILONS = (1e-5, 1e-6, 1e-3, 0.1)  # the first two are what models use
LEAST_EPS = 1e-20  # beside rows of about 0 alone: squares that are multiplied out in float64 lose it beside a mean


def arrange(v: Values) -> dict[str, Any]:
    """An eps of those, as the number drawn for it says."""
    return {"eps": EPSILONS[int(abs(v["eps"]) * 1e4) % len(EPSILONS)]}


def offset_rows(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows far from 0 beside their deviation: the mean of squares less the square of the mean has no digit left."""
    return {"x": v["x"] + draw.choice([-3000.0, 100.0, 1000.0], (len(v["x"]), 1)), "eps": 1e-5}


def small_rows(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows in which eps counts as much as the variance, and rows of one value. Half the time eps is the least that
    there is, about 0, where a variance is as small.
    """
    if draw.random() < 0.5:
        return {"x": v["x"] * draw.choice([0.0, 1e-10, 1e-9], (len(v["x"]), 1)), "eps": LEAST_EPS}
    scale = draw.choice([0.0, 1e-3, 1e-2], (len(v["x"]), 1))
    return {"x": v["x"] * scale + draw.choice([0.0, 0.25], (len(v["x"]), 1)), "eps": float(draw.choice(EPSILONS[:2]))}


def large_rows(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows whose squares are large, and still finite in float32 when they are added up."""
    return {"x": v["x"] * 1e15}


def torch_layer_norm(v: Values) -> object:
    """PyTorch's kernel, which gives mean and rstd as well."""
    import torch

    results = torch.native_layer_norm(v["x"], v["x"].shape[-1:], v["weight"], v["bias"], v["eps"])
    for name, value in zip(("y", "mean", "rstd"), results, strict=True):
        v[name].copy_(value.view_as(v[name]))
    return v["y"]


problem = Problem(
    name="layer_norm",
    title="Layer norm of rows, float32",
    parameters=(
        array("x", "float32", "rows", "columns"),
        array("weight", "float32", "columns"),
        array("bias", "float32", "columns"),
        array("y", "float32", "rows", "columns", role="out"),
        array("mean", "float32", "rows", role="out"),
        array("rstd", "float32", "rows", role="out"),
        size("rows"),
        size("columns"),
        scalar("eps"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="columns+2",
    without={"nonfinite": "the mean of a row with an Inf is Inf or NaN, by the order in which it is made"},
    arrange=arrange,
    zeros=("rows",),
    public=(
        {"rows": 3, "columns": 1024},
        {"rows": 5, "columns": 128},
        {"rows": 2, "columns": 1001},
        {"rows": 40, "columns": 75},
        {"rows": 1, "columns": 1},
    ),
    largest={"rows": 40, "columns": 5000},
    widest={"rows": 66_000, "columns": 70_000},
    special={"offset rows": offset_rows, "small rows": small_rows, "large rows": large_rows},
    tiles=(32, 128, 1024, 4096),
    observed={"rows": 8, "columns": 4096},
    timed={"rows": 32_768, "columns": 4096},
    flops="8*rows*columns",
    bytes="8*rows*columns",
    pieces="rows",
    peers={"torch.layer_norm": Peer(torch_layer_norm)},
    torch_ops=("aten::native_layer_norm", "aten::layer_norm"),
)
