"""Backward pass of layer norm, y = x̂ weight + bias with x̂ = (x - mean) rstd: dx, and dweight and dbias in parts.

    g = dy weight        dx = rstd (g - mean of g - x̂ · mean of g x̂)
    dweight = sum over the rows of dy x̂        dbias = sum over the rows of dy

mean and rstd are what the forward pass left, one of each for a row; its eps was from 1e-20 to 0.1. A part is the sum
over every `parts`-th row: row p of dweight and of dbias over the rows p, p + parts and so on. Who has the parts adds
them up; they come out the same on every run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def _dealt(v: Values, rows: Array) -> Array:
    """The sum of every `parts`-th row."""
    parts = int(v["parts"])
    return np.array([rows[p::parts].sum(axis=0) for p in range(parts)])


def reference(v: Values) -> dict[str, Array]:
    """Each row by itself, and the rows of each part added up."""
    rstd, g = v["rstd"][:, None], v["dy"] * v["weight"]
    normed = (v["x"] - v["mean"][:, None]) * rstd
    dx = rstd * (g - np.mean(g, axis=-1, keepdims=True) - normed * np.mean(g * normed, axis=-1, keepdims=True))
    return {"dx": dx, "dweight": _dealt(v, v["dy"] * normed), "dbias": _dealt(v, v["dy"])}


def magnitude(v: Values) -> dict[str, Array]:
    """The same of absolute values, all added up: x rstd - mean rstd is as good as (x - mean) rstd."""
    rstd, g = abs(v["rstd"][:, None]), abs(v["dy"] * v["weight"])
    normed = (abs(v["x"]) + abs(v["mean"][:, None])) * rstd
    dx = rstd * (g + np.mean(g, axis=-1, keepdims=True) + normed * np.mean(g * normed, axis=-1, keepdims=True))
    return {"dx": dx, "dweight": _dealt(v, abs(v["dy"]) * normed), "dbias": _dealt(v, abs(v["dy"]))}


EPSILONS = (1e-5, 1e-6, 1e-3, 0.1)  # the first two are what models use
LEAST_EPS = 1e-20


def _forward_state(x: Array, eps: Any) -> dict[str, Array]:
    """What the forward pass leaves of rows."""
    wide = x.astype(np.float64)
    mean = wide.mean(axis=-1)
    rstd = 1 / np.sqrt(((wide - mean[:, None]) ** 2).mean(axis=-1) + eps)
    return {"mean": mean.astype(np.float32), "rstd": rstd.astype(np.float32)}


def arrange(v: Values) -> dict[str, Any]:
    """Mean and rstd of the rows drawn, with an eps of those as the numbers drawn for rstd say."""
    return _forward_state(v["x"], np.array(EPSILONS)[(abs(v["rstd"]) * 1e4).astype(np.int64) % len(EPSILONS)])


def offset_rows(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows far from 0 beside their deviation: who takes x for x - mean is far off."""
    x = (v["x"] + draw.choice([-300.0, 30.0, 100.0], (len(v["x"]), 1))).astype(np.float32)
    return {"x": x, **_forward_state(x, 1e-5)}


def small_rows(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows of one value and rows in which eps counts as much as the variance, down to the least eps there is."""
    scale, eps = draw.choice([0.0, 1e-3, 1e-2], (len(v["x"]), 1)), float(draw.choice(EPSILONS[:2]))
    if draw.random() < 0.5:
        scale, eps = draw.choice([0.0, 1e-10, 1e-9], (len(v["x"]), 1)), LEAST_EPS
    x = (v["x"] * scale).astype(np.float32)
    return {"x": x, **_forward_state(x, eps)}


def large_rows(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows whose rstd to the power of three is 0 in float32."""
    x = (v["x"] * 1e15).astype(np.float32)
    return {"x": x, **_forward_state(x, 1e-5)}


def torch_layer_norm_backward(v: Values) -> object:
    """PyTorch's kernels."""
    import torch

    mean, rstd = v["mean"][:, None], v["rstd"][:, None]
    arguments = v["dy"], v["x"], v["x"].shape[-1:], mean, rstd, v["weight"], v["weight"]
    dx, _, _ = torch.ops.aten.native_layer_norm_backward(*arguments, [True, True, True])
    return v["dx"].copy_(dx)


problem = Problem(
    name="layer_norm_backward",
    title="Backward pass of layer norm, float32",
    parameters=(
        array("x", "float32", "rows", "columns"),
        array("weight", "float32", "columns"),
        array("dy", "float32", "rows", "columns"),
        array("mean", "float32", "rows"),
        array("rstd", "float32", "rows"),
        array("dx", "float32", "rows", "columns", role="out"),
        array("dweight", "float32", "parts", "columns", role="out"),
        array("dbias", "float32", "parts", "columns", role="out"),
        size("rows"),
        size("columns"),
        size("parts"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="columns+rows+2",
    without={"nonfinite": "the mean of a row with an Inf is Inf or NaN, and the rest of it with it"},
    arrange=arrange,
    same_bits=True,
    zeros=("rows",),
    public=(
        {"rows": 7, "columns": 1024, "parts": 3},
        {"rows": 5, "columns": 128, "parts": 2},
        {"rows": 3, "columns": 1001, "parts": 5},
        {"rows": 40, "columns": 75, "parts": 4},
        {"rows": 1, "columns": 1, "parts": 1},
    ),
    largest={"rows": 40, "columns": 5000, "parts": 12},
    widest={"rows": 40_000, "columns": 70_000, "parts": 600},
    special={"offset rows": offset_rows, "small rows": small_rows, "large rows": large_rows},
    tiles=(32, 128, 1024, 4096),
    observed={"rows": 16, "columns": 4096, "parts": 4},
    timed={"rows": 16_384, "columns": 4096, "parts": 528},
    flops="12*rows*columns",
    bytes="12*rows*columns",
    peers={"torch": Peer(torch_layer_norm_backward)},
)
