"""Inclusive prefix sum: y[i] = x[0] + … + x[i] in float32, which shows what whole numbers hide: Inf, NaN, rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """Running sum of the elements."""
    return {"y": np.cumsum(v["x"])}


def magnitude(v: Values) -> dict[str, Array]:
    """Running sum of the absolute values: a sum itself may be near zero."""
    return {"y": np.cumsum(abs(v["x"]))}


def one_step(v: Values, draw: Generator) -> dict[str, Any]:
    """Zeros and a single one: the result is a step, and a part of the array that misses it stays at zero."""
    x = np.zeros_like(v["x"])
    if x.size:
        x[draw.integers(x.size)] = 1
    return {"x": x}


def torch_cumsum(v: Values) -> object:
    """PyTorch's scan, into the result's memory."""
    import torch

    return torch.cumsum(v["x"], 0, out=v["y"])


problem = Problem(
    name="scan",
    title="Inclusive prefix sum, float32",
    parameters=(array("x", "float32", "n"), array("y", "float32", "n", role="out"), size("n")),
    reference=reference,
    magnitude=magnitude,
    terms="n+1",
    exact=True,
    zeros=("n",),
    public=({"n": 1024}, {"n": 1000}, {"n": 16_411}, {"n": 1}),
    largest={"n": 20_000},
    widest={"n": 3_000_000},
    special={"one step": one_step},
    tiles=(32, 256, 2048, 4096),
    observed={"n": 1 << 16},
    timed={"n": 1 << 28},
    flops="n",
    bytes="8*n",
    peers={"torch.cumsum": Peer(torch_cumsum)},
    unrepeatable="a tile adds to its own sum what its predecessors have published by then: the order of the additions "
    "depends on time, and a float sum on the order",
    torch_ops=("aten::cumsum",),
)
