"""Where a vector's largest element is: best = the lowest i with x[i] largest, float32. As in PyTorch, a NaN is larger
than every number, and both zeros are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size

LOWEST = float(np.finfo(np.float32).min)


def reference(v: Values) -> dict[str, Array]:
    """NumPy's, which takes the first of equal ones, and the first NaN where there is one."""
    return {"best": np.array([np.argmax(v["x"])], np.int64)}


def few_values(v: Values, draw: Generator) -> dict[str, Any]:
    """Three values only, so that the largest is there many times."""
    return {"x": draw.choice([-1.0, 0.5, 2.0], v["x"].shape)}


def one_rises(v: Values, draw: Generator) -> dict[str, Any]:
    """All equal but for one element, anywhere: who leaves it out has another answer. Half the time the others are -Inf
    and it is the lowest number, which is above them.
    """
    others, one = ((-3.0, draw.choice([-2.0, np.inf])), (-np.inf, LOWEST))[draw.integers(2)]
    x = np.full(v["x"].shape, others)
    x[draw.integers(x.size)] = one
    return {"x": x}


def below_zero(v: Values, draw: Generator) -> dict[str, Any]:
    """No element above zero, or above what a maximum begins at that should have been -Inf: who begins there finds none,
    or the first.
    """
    spread, depth = ((1.0, 1.0), (1e30, 1e31), (1e37, 1e38))[draw.integers(3)]
    return {"x": -abs(np.clip(v["x"], -8, 8)) * spread - depth}


def near_the_end(v: Values, draw: Generator) -> dict[str, Any]:
    """The largest is the last element of an odd index: a float does not hold it where there are more than 2^24."""
    x = np.clip(v["x"], -8, 8)
    x[(len(x) - 1 | 1) - 2 * (len(x) % 2)] = 9.0
    return {"x": x}


def lowest(v: Values, draw: Generator) -> dict[str, Any]:
    """-Inf from end to end, some of it followed by the lowest number; and both zeros: equal ones that differ in their
    bits.
    """
    x = np.full(v["x"].shape, -np.inf)
    kind = draw.integers(3)
    if kind == 1:
        x[draw.random(x.size) < 0.01] = LOWEST
    return {"x": draw.choice([-0.0, 0.0], x.shape) if kind == 2 else x}


def nans(v: Values, draw: Generator) -> dict[str, Any]:
    """A few NaNs of both signs among numbers and Infs: the first of them is the answer."""
    x = np.where(draw.random(v["x"].shape) < 0.1, np.inf, v["x"])
    x[draw.integers(x.size, size=3)] = draw.choice([np.nan, -np.nan], 3)
    return {"x": x}


def torch_argmax(v: Values) -> object:
    """PyTorch's."""
    return v["best"].copy_(v["x"].argmax())


problem = Problem(
    name="argmax",
    title="Where the largest element is, float32",
    parameters=(array("x", "float32", "n"), array("best", "int64", "1", role="out"), size("n")),
    reference=reference,
    public=({"n": 1024}, {"n": 1000}, {"n": 16_411}, {"n": 1}),
    largest={"n": 20_000},
    widest={"n": 1_100_000},
    wide_data=("normal", "near the end"),
    special={
        "few values": few_values,
        "one rises": one_rises,
        "below zero": below_zero,
        "near the end": near_the_end,
        "lowest": lowest,
        "NaNs": nans,
    },
    tiles=(32, 256, 2048, 8192),
    observed={"n": 1 << 16},
    timed={"n": 1 << 28},
    flops="n",
    bytes="4*n",
    peers={"torch.argmax": Peer(torch_argmax)},
    torch_ops=("aten::argmax",),
)
