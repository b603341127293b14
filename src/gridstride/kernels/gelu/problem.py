"""GELU in its tanh form: y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x³))). As in PyTorch, gelu(-Inf) is NaN (-Inf · 0),
gelu(Inf) is Inf and gelu(NaN) is NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size

SLOPE, CUBIC = np.sqrt(2 / np.pi), 0.044715


def reference(v: Values) -> dict[str, Array]:
    """The formula, in float64."""
    x = v["x"]
    return {"y": 0.5 * x * (1 + np.tanh(SLOPE * (x + CUBIC * x**3)))}


def magnitude(v: Values) -> dict[str, Array]:
    """|x|: for negative x the two terms of 1 + tanh cancel, and their rounding errors are in proportion to 1."""
    return {"y": abs(v["x"])}


def tails(v: Values, draw: Generator) -> dict[str, Any]:
    """Where the exponential is 0 or infinite in float32, and cubes are."""
    ends = np.array([4.5, 5.5, 7.0, 9.0, 12.0, 50.0, 1e4, 1e8, 1e13])
    return {"x": draw.choice(ends, v["x"].shape) * draw.choice([-1.0, 1.0], v["x"].shape)}


def bend(v: Values, draw: Generator) -> dict[str, Any]:
    """Where tanh is neither straight nor level: an approximation is furthest off there."""
    return {"x": draw.uniform(-3.5, 3.5, v["x"].shape)}


def torch_gelu(v: Values) -> object:
    """PyTorch's kernel of the tanh form."""
    import torch

    return torch.ops.aten.gelu.out(v["x"], approximate="tanh", out=v["y"])


problem = Problem(
    name="gelu",
    title="GELU, tanh form, float32",
    parameters=(array("x", "float32", "n"), array("y", "float32", "n", role="out"), size("n", "int64")),
    reference=reference,
    magnitude=magnitude,
    terms="2",
    zeros=("n",),
    public=({"n": 1024}, {"n": 1000}, {"n": 4099}, {"n": 1}),
    largest={"n": 20_000},
    widest={"n": 2_200_000},
    special={"tails": tails, "bend": bend},
    tiles=(32, 256, 1024, 4096),
    observed={"n": 1 << 16},
    timed={"n": 1 << 27},
    flops="8*n",
    bytes="8*n",
    pieces="n",
    peers={"torch.nn.functional.gelu": Peer(torch_gelu)},
    torch_ops=("aten::gelu",),
)
