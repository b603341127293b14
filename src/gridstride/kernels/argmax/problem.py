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
    common, larger = ((-3.0, draw.choice([-2.0, np.inf])), (-np.inf, LOWEST))[draw.integers(2)]
    x = np.full(v["x"].shape, common)
    x[draw.integers(x.size)] = larger
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
    """-Inf from end to end, half the time some of it followed by the lowest number."""
    x = np.full(v["x"].shape, -np.inf)
    if draw.random() < 0.5:
        x[draw.random(x.size) < 0.01] = LOWEST
    return {"x": x}


def zeros_of_both_signs(v: Values, draw: Generator) -> dict[str, Any]:
    """Numbers below zero, and zeros of both signs, which are equal: the first one is the answer, and has the sign that
    makes it the less of both by its bits.
    """
    x = np.where(
        draw.random(v["x"].shape) < 0.9, -abs(np.clip(v["x"], -8, 8)) - 1, draw.choice([-0.0, 0.0], v["x"].shape)
    )
    first, later = np.sort(draw.choice(x.size, 2, replace=False)) if x.size > 1 else (0, 0)
    x[:first][x[:first] == 0] = -1.0
    x[later], x[first] = 0.0, -0.0
    return {"x": x}


def nans(v: Values, draw: Generator) -> dict[str, Any]:
    """NaNs of both signs and with payloads among numbers and Infs: the first of them is the answer."""
    x = np.where(draw.random(v["x"].shape) < 0.1, np.inf, v["x"]).astype(np.float32)
    payloads = draw.integers(0x7FC00000, 0x80000000, 3, np.uint32) | draw.choice(np.array([0, 1 << 31], np.uint32), 3)
    x[draw.integers(x.size, size=3)] = payloads.view(np.float32)
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
        "zeros of both signs": zeros_of_both_signs,
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
