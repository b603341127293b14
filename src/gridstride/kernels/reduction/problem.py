"""Sum: total += x[0] + … + x[n - 1] in float32. The judge puts a start value into total."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """Sum of all elements, added to what was there."""
    return {"total": v["total"] + np.sum(v["x"])}


def magnitude(v: Values) -> dict[str, Array]:
    """Sum of absolute values: the answer itself may be near zero."""
    return {"total": abs(v["total"]) + np.sum(abs(v["x"]))}


def nothing_yet(v: Values, draw: Generator) -> dict[str, Any]:
    """A total of zero, as most callers have it."""
    return {"total": np.zeros(1)}


def torch_sum(v: Values) -> object:
    """PyTorch's sum, added to the total."""
    return v["total"].add_(v["x"].sum())


problem = Problem(
    name="reduction",
    title="Sum of a vector, float32",
    parameters=(array("x", "float32", "n"), array("total", "float32", "1", role="inout"), size("n")),
    reference=reference,
    magnitude=magnitude,
    terms="n+1",
    exact=True,
    zeros=("n",),
    without={"denormal": "a float atomicAdd to global memory flushes denormals to zero (PTX ISA, red.add.f32)"},
    public=({"n": 1024}, {"n": 1000}, {"n": 16_411}, {"n": 1}),
    largest={"n": 20_000},
    widest={"n": 3_000_000},
    special={"total = 0": nothing_yet},
    tiles=(32, 256, 2048, 8192),
    observed={"n": 1 << 16},
    timed={"n": 1 << 28},
    flops="n",
    bytes="4*n",
    pieces="n",
    peers={"torch.sum": Peer(torch_sum)},
    unrepeatable="blocks add to the total in the order in which they finish, and float addition depends on the order",
    torch_ops=("aten::sum", "aten::mean", "aten::linalg_vector_norm", "aten::norm", "aten::amax", "aten::max"),
)
