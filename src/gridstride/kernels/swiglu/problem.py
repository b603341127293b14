"""The middle of a gated feed-forward layer, out = silu(gate) up with silu(g) = g / (1 + e^-g), from two arrays.

As in PyTorch, out is NaN where gate is -Inf.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size

_LARGEST = 104.0  # beyond which e^-|g| is 0 in float32


def silu(x: Array) -> Array:
    """x / (1 + e^-x)."""
    return x / (1.0 + np.exp(-x))


def reference(v: Values) -> dict[str, Array]:
    """The formula, in float64."""
    return {"out": silu(v["gate"]) * v["up"]}


def magnitude(v: Values) -> dict[str, Array]:
    """The answer, and below zero that |g| times: e^-g is off by so many units where its argument was rounded by one."""
    g = v["gate"]
    return {"out": abs(silu(g) * v["up"]) * (1 + np.where(g < 0, np.minimum(-g, _LARGEST), 0))}


def tails(v: Values, draw: Generator) -> dict[str, Any]:
    """Gates whose exponential is far from 1, nearly infinite or infinite in float32, and no result is denormal."""
    ends = np.array([17.0, 30.0, 80.0, 87.6, 120.0, 1e4, 1e30])
    return {"gate": draw.choice(ends, v["gate"].shape) * draw.choice([-1.0, 1.0], v["gate"].shape)}


def flat(v: Values, draw: Generator) -> dict[str, Any]:
    """Gates whose SiLU is far below 1, with large factors: who takes one number near 1 from another has lost it."""
    shape = v["gate"].shape
    return {"gate": draw.uniform(-40.0, -8.0, shape), "up": draw.uniform(1e3, 1e6, shape)}


def torch_swiglu(v: Values) -> object:
    """PyTorch's two calls."""
    import torch
    import torch.nn.functional as F

    return torch.mul(F.silu(v["gate"]), v["up"], out=v["out"])


problem = Problem(
    name="swiglu",
    title="Gated SiLU of two arrays, silu(gate) * up, float32",
    parameters=(
        array("gate", "float32", "n"),
        array("up", "float32", "n"),
        array("out", "float32", "n", role="out"),
        size("n", "int64"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="2",
    zeros=("n",),
    public=({"n": 1024}, {"n": 1000}, {"n": 4099}, {"n": 1}),
    largest={"n": 20_000},
    widest={"n": 2_200_000},
    special={"tails": tails, "flat gates": flat},
    tiles=(32, 256, 1024, 4096),
    observed={"n": 1 << 16},
    timed={"n": 1 << 27},
    flops="4*n",
    bytes="12*n",
    pieces="n",
    peers={"torch": Peer(torch_swiglu)},
    torch_ops=("aten::silu",),
)
