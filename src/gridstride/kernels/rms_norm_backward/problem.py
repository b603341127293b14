"""Backward pass of RMS norm, out = x r weight with r = 1 / sqrt(mean of x² + eps): dx, and dweight in parts.

    g = dy weight        dx = r (g - x r · mean of g x r)        dweight = sum over the rows of dy x r

eps is from 1e-20 to 0.1. A part is the sum over every `parts`-th row: partial[p] over the rows p, p + parts and so on.
Who has the parts adds them up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, scalar, size


def _dealt(v: Values, rows: Array) -> Array:
    """The sum of every `parts`-th row."""
    parts = int(v["parts"])
    return np.array([rows[p::parts].sum(axis=0) for p in range(parts)])


def _scale(v: Values) -> Array:
    return 1 / np.sqrt(np.mean(v["x"] * v["x"], axis=-1, keepdims=True) + v["eps"])


def reference(v: Values) -> dict[str, Array]:
    """Each row by itself, and the rows of each part added up."""
    normed, g = v["x"] * _scale(v), v["dy"] * v["weight"]
    dx = _scale(v) * (g - normed * np.mean(g * normed, axis=-1, keepdims=True))
    return {"dx": dx, "partial": _dealt(v, v["dy"] * normed)}


def magnitude(v: Values) -> dict[str, Array]:
    """The same of absolute values, all added up."""
    normed, g = abs(v["x"]) * _scale(v), abs(v["dy"] * v["weight"])
    dx = _scale(v) * (g + normed * np.mean(g * normed, axis=-1, keepdims=True))
    return {"dx": dx, "partial": _dealt(v, abs(v["dy"]) * normed)}


EPSILONS = (1e-5, 1e-6, 1e-3, 0.1, 1e-12, 1e-20)  # the first two are what models use


def arrange(v: Values) -> dict[str, Any]:
    """An eps of those, as the number drawn for it says."""
    return {"eps": EPSILONS[int(abs(v["eps"]) * 1e4) % len(EPSILONS)]}


def small_rows(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows of zeros and rows in which eps counts as much as the mean square; half the time the least eps there is."""
    if draw.random() < 0.5:
        return {"x": v["x"] * draw.choice([0.0, 1e-10, 1e-9], (len(v["x"]), 1)), "eps": EPSILONS[-1]}
    scale = draw.choice([0.0, 1e-3, 1e-2], (len(v["x"]), 1))
    return {"x": v["x"] * scale, "eps": float(draw.choice(EPSILONS[:2]))}


def large_rows(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows whose r to the power of three is 0 in float32."""
    return {"x": v["x"] * 1e15}


def torch_rms_norm_backward(v: Values) -> object:
    """PyTorch's, from the norm's graph of operators."""
    import torch
    import torch.nn.functional as F

    x, weight = (v[name].detach().requires_grad_() for name in ("x", "weight"))
    y = F.rms_norm(x, x.shape[-1:], weight, v["eps"])
    return torch.autograd.grad(y, (x, weight), v["dy"])[0]


problem = Problem(
    name="rms_norm_backward",
    title="Backward pass of RMS norm, float32",
    parameters=(
        array("x", "float32", "rows", "columns"),
        array("weight", "float32", "columns"),
        array("dy", "float32", "rows", "columns"),
        array("dx", "float32", "rows", "columns", role="out"),
        array("partial", "float32", "parts", "columns", role="out"),
        size("rows"),
        size("columns"),
        size("parts"),
        scalar("eps"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="columns+rows+2",
    without={"nonfinite": "the mean square of a row with an Inf is Inf, and the rest of it 0 or NaN by the order"},
    arrange=arrange,
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
    special={"small rows": small_rows, "large rows": large_rows},
    tiles=(32, 128, 1024, 4096),
    observed={"rows": 16, "columns": 4096, "parts": 4},
    timed={"rows": 16_384, "columns": 4096, "parts": 528},
    flops="12*rows*columns",
    bytes="12*rows*columns",
    peers={"torch": Peer(torch_rms_norm_backward)},
)
