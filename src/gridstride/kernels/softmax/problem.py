"""Softmax of each row: y = e^(x - m) / sum of e^(x - m) over the row, m its largest element. As in PyTorch, -Inf beside
finite elements gives 0, and a row with Inf or NaN, or with nothing but -Inf, is NaN from end to end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def _largest(x: Array) -> Array:
    return np.max(x, axis=-1, keepdims=True, initial=-np.inf)


def reference(v: Values) -> dict[str, Array]:
    """Each row by itself; the largest element goes first, so that no exponential overflows."""
    powers = np.exp(v["x"] - _largest(v["x"]))
    return {"y": powers / np.sum(powers, axis=-1, keepdims=True)}


def magnitude(v: Values) -> dict[str, Array]:
    """y (1 + |x - m| + its mean over the distribution): an exponential's rounding error is in proportion to |x - m|."""
    y, distance = reference(v)["y"], abs(v["x"] - _largest(v["x"]))
    rounding = np.where(y > 0, y * distance, np.where(np.isnan(y), np.nan, 0.0))  # 0 · Inf is no error
    return {"y": y + rounding + y * np.sum(rounding, axis=-1, keepdims=True)}


def one_huge(v: Values, draw: Generator) -> dict[str, Any]:
    """One logit far above the others in each row, up to the largest float32."""
    x = v["x"].copy()
    if x.size:
        chosen = draw.integers(0, x.shape[1], len(x))
        x[np.arange(len(x)), chosen] = draw.choice([60.0, 1e3, 1e20, 3e38], len(x))
    return {"x": x}


def far_below_zero(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows whose elements are all so small that their exponentials are 0 in float32, or below what a maximum begins at
    that should have been -Inf.
    """
    spread, depth = np.array([(1.0, 120.0), (1.0, 1e4), (1e30, 1e33), (1e34, 1e37), (1e37, 2e38)]).T
    which = draw.integers(0, len(depth), (len(v["x"]), 1))
    return {"x": np.clip(v["x"], -8, 8) * spread[which] - depth[which]}


def far_above_zero(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows whose elements are all so large that their exponentials are infinite."""
    return {"x": v["x"] + draw.choice([90.0, 1e4], (len(v["x"]), 1))}


def rising(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows that rise or fall: a running maximum changes with every element, or never."""
    order = np.sort(v["x"] * 5, axis=-1)
    return {"x": np.where(draw.random((len(order), 1)) < 0.7, order, order[:, ::-1])}


def masked(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows with -Inf at the end, at the beginning, in every second place, everywhere, and nowhere."""
    rows, columns = v["x"].shape
    positions, cut = np.arange(columns), draw.integers(0, columns + 1, (rows, 1))
    kind = draw.integers(0, 5, (rows, 1))
    hidden = [
        positions >= cut,
        positions < cut,
        np.broadcast_to(positions % 2 == 1, (rows, columns)),
        positions >= 0,
        positions < 0,
    ]
    return {"x": np.where(np.choose(kind, np.broadcast_arrays(*hidden)), -np.inf, v["x"])}


def one_infinite(v: Values, draw: Generator) -> dict[str, Any]:
    """Some rows with one Inf, some with one NaN, the others finite."""
    x = v["x"].copy()
    if x.size:
        chosen = draw.integers(0, x.shape[1], len(x))
        original = x[np.arange(len(x)), chosen]
        bad = draw.choice([np.inf, np.nan], len(x))
        x[np.arange(len(x)), chosen] = np.where(draw.random(len(x)) < 0.5, bad, original)
    return {"x": x}


def torch_softmax(v: Values) -> object:
    """PyTorch's kernel."""
    import torch

    return torch.softmax(v["x"], -1, out=v["y"])


problem = Problem(
    name="softmax",
    title="Softmax of rows, float32",
    parameters=(
        array("x", "float32", "rows", "columns"),
        array("y", "float32", "rows", "columns", role="out"),
        size("rows"),
        size("columns"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="columns+2",
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
    special={
        "one huge": one_huge,
        "far below zero": far_below_zero,
        "far above zero": far_above_zero,
        "rising": rising,
        "masked": masked,
        "one infinite": one_infinite,
    },
    tiles=(32, 128, 1024, 2048, 4096),
    observed={"rows": 8, "columns": 4096},
    timed={"rows": 32_768, "columns": 4096},
    flops="5*rows*columns",
    bytes="8*rows*columns",
    pieces="rows",
    peers={"torch.softmax": Peer(torch_softmax)},
    torch_ops=("aten::_softmax", "aten::softmax"),
)
