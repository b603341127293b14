"""Backward pass of out = silu(gate) up, with s = 1 / (1 + e^-gate): dup = dout gate s, and
dgate = dout up s (1 + gate (1 - s)).

As in PyTorch, both are NaN where gate is -Inf, and dgate where it is Inf.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size

_LEVEL = 18.0  # from here on s is 1 in float32, and 1 - s is 0


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    return 1.0 / (1.0 + np.exp(-x))


def reference(v: Values) -> dict[str, Array]:
    """The formulas, in float64."""
    gate, s = v["gate"], sigmoid(v["gate"])
    return {"dgate": v["dout"] * v["up"] * s * (1.0 + gate * (1.0 - s)), "dup": v["dout"] * gate * s}


def magnitude(v: Values) -> dict[str, Array]:
    """The same with the terms of 1 + gate - gate s added up, as far as they are any in float32."""
    s, near = sigmoid(v["gate"]), np.minimum(abs(v["gate"]), _LEVEL)
    magnitudes = reference(v)
    dgate = abs(v["dout"] * v["up"]) * s * (1.0 + near + near * s)
    return {"dgate": np.maximum(dgate, abs(magnitudes["dgate"])), "dup": abs(magnitudes["dup"])}


def tails(v: Values, draw: Generator) -> dict[str, Any]:
    """Gates whose exponential is far from 1 or infinite in float32. No sigmoid is denormal, nor what it is in whichever
    order the factors are multiplied.
    """
    ends = np.array([17.0, 30.0, 60.0, 120.0, 1e4, 1e30])
    return {"gate": draw.choice(ends, v["gate"].shape) * draw.choice([-1.0, 1.0], v["gate"].shape)}


def bend(v: Values, draw: Generator) -> dict[str, Any]:
    """Where the derivative of SiLU is neither 0 nor 1, below 0 and above 1."""
    return {"gate": draw.uniform(-6.0, 6.0, v["gate"].shape)}


def torch_swiglu_backward(v: Values) -> object:
    """PyTorch's calls: the product's gradients and SiLU's."""
    import torch
    import torch.nn.functional as F

    torch.mul(F.silu(v["gate"]), v["dout"], out=v["dup"])
    return torch.ops.aten.silu_backward.grad_input(v["dout"] * v["up"], v["gate"], grad_input=v["dgate"])


problem = Problem(
    name="swiglu_backward",
    title="Backward pass of gated SiLU, float32",
    parameters=(
        array("gate", "float32", "n"),
        array("up", "float32", "n"),
        array("dout", "float32", "n"),
        array("dgate", "float32", "n", role="out"),
        array("dup", "float32", "n", role="out"),
        size("n", "int64"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="3",
    zeros=("n",),
    public=({"n": 1024}, {"n": 1000}, {"n": 4099}, {"n": 1}),
    largest={"n": 20_000},
    widest={"n": 2_200_000},
    special={"tails": tails, "bend": bend},
    tiles=(32, 256, 1024, 4096),
    observed={"n": 1 << 16},
    timed={"n": 1 << 26},
    flops="10*n",
    bytes="20*n",
    pieces="n",
    peers={"torch": Peer(torch_swiglu_backward)},
    torch_ops=("aten::silu_backward",),
)
