"""Backward pass of softmax: dx = y (dy - sum of dy y over the row), from the forward pass's result y and dy. An Inf or
NaN in y or dy makes its row's sum NaN or Inf, and the row with it, as in PyTorch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """Each row by itself."""
    y, dy = v["y"], v["dy"]
    return {"dx": y * (dy - np.sum(y * dy, axis=-1, keepdims=True))}


def magnitude(v: Values) -> dict[str, Array]:
    """The same of absolute values, all added up."""
    y, dy = abs(v["y"]), abs(v["dy"])
    return {"dx": y * (dy + np.sum(y * dy, axis=-1, keepdims=True))}


def distributions(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows that add up to 1, as softmax gives them: some even, some with nearly all in one place."""
    if not v["y"].size:
        return {}
    logits = v["y"].astype(np.float64) * draw.choice([0.1, 1.0, 30.0], (len(v["y"]), 1))
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return {"y": powers / powers.sum(axis=-1, keepdims=True)}


def same_slope(v: Values, draw: Generator) -> dict[str, Any]:
    """The same dy along a row of a distribution: dx is 0 but for rounding."""
    return {**distributions(v, draw), "dy": np.broadcast_to(draw.uniform(-3, 3, (len(v["dy"]), 1)), v["dy"].shape)}


def one_bad_row(v: Values, draw: Generator) -> dict[str, Any]:
    """An Inf or NaN in one row of dy, which is nothing to the others."""
    dy = v["dy"].copy()
    if dy.size:
        dy[draw.integers(0, len(dy)), draw.integers(0, dy.shape[1])] = draw.choice([np.inf, -np.inf, np.nan])
    return {"dy": dy}


def torch_softmax_backward(v: Values) -> object:
    """PyTorch's kernel."""
    import torch

    op = torch.ops.aten._softmax_backward_data.out
    return op(v["dy"], v["y"], -1, v["y"].dtype, grad_input=v["dx"])


problem = Problem(
    name="softmax_backward",
    title="Backward pass of softmax, float32",
    parameters=(
        array("y", "float32", "rows", "columns"),
        array("dy", "float32", "rows", "columns"),
        array("dx", "float32", "rows", "columns", role="out"),
        size("rows"),
        size("columns"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="columns+2",
    exact=True,
    zeros=("rows", "columns"),
    public=(
        {"rows": 3, "columns": 1024},
        {"rows": 5, "columns": 128},
        {"rows": 2, "columns": 1001},
        {"rows": 40, "columns": 75},
        {"rows": 1, "columns": 1},
    ),
    largest={"rows": 40, "columns": 5000},
    widest={"rows": 66_000, "columns": 70_000},
    special={"distributions": distributions, "same slope": same_slope, "one bad row": one_bad_row},
    tiles=(32, 128, 1024, 2048, 4096),
    observed={"rows": 8, "columns": 4096},
    timed={"rows": 32_768, "columns": 4096},
    flops="4*rows*columns",
    bytes="12*rows*columns",
    pieces="rows",
    peers={"torch": Peer(torch_softmax_backward)},
    torch_ops=("aten::_softmax_backward_data",),
)
