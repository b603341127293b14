"""Backward pass of GELU in its tanh form: dx = dy gelu'(x), gelu'(x) = (1 + tanh u)/2 + x/2 (1 - tanh² u) u'(x), with
u = sqrt(2/pi) (x + 0.044715 x³). As in PyTorch, dx is NaN where x is Inf, -Inf or NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size

SLOPE, CUBIC = np.sqrt(2 / np.pi), 0.044715
_LEVEL = 6.0  # from here on tanh is 1 in float32, and 1 - tanh² is 0


def _parts(x: Array) -> tuple[Array, Array]:
    """tanh u and u'."""
    return np.tanh(SLOPE * (x + CUBIC * x**3)), SLOPE * (1 + 3 * CUBIC * x**2)


def reference(v: Values) -> dict[str, Array]:
    """The formula, in float64."""
    x = v["x"]
    t, slope = _parts(x)
    return {"dx": v["dy"] * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)}


def magnitude(v: Values) -> dict[str, Array]:
    """The same with the terms of both sums added up, as far as they are any in float32."""
    t, _ = _parts(v["x"])
    near = np.minimum(abs(v["x"]), _LEVEL)
    return {"dx": abs(v["dy"]) * (0.5 * (1 + abs(t)) + 0.5 * near * (1 + t * t) * _parts(near)[1])}


def tails(v: Values, draw: Generator) -> dict[str, Any]:
    """Where the exponential is 0 or infinite in float32, and cubes are."""
    ends = np.array([4.5, 5.5, 7.0, 9.0, 12.0, 50.0, 1e4, 1e8, 1e12])
    return {"x": draw.choice(ends, v["x"].shape) * draw.choice([-1.0, 1.0], v["x"].shape)}


def bend(v: Values, draw: Generator) -> dict[str, Any]:
    """Where the derivative is neither 0 nor 1, below 0 and above 1."""
    return {"x": draw.uniform(-3.5, 3.5, v["x"].shape)}


def torch_gelu_backward(v: Values) -> object:
    """PyTorch's kernel of the tanh form."""
    import torch

    return torch.ops.aten.gelu_backward.grad_input(v["dy"], v["x"], approximate="tanh", grad_input=v["dx"])


problem = Problem(
    name="gelu_backward",
    title="Backward pass of GELU, tanh form, float32",
    parameters=(
        array("x", "float32", "n"),
        array("dy", "float32", "n"),
        array("dx", "float32", "n", role="out"),
        size("n", "int64"),
    ),
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
    flops="16*n",
    bytes="12*n",
    pieces="n",
    peers={"torch": Peer(torch_gelu_backward)},
    torch_ops=("aten::gelu_backward",),
)
