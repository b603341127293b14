"""SAXPY: y = a x + y in float32, in place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, scalar, size


def reference(v: Values) -> dict[str, Array]:
    """One multiply-add per element."""
    return {"y": v["a"] * v["x"] + v["y"]}


def magnitude(v: Values) -> dict[str, Array]:
    """|a x| + |y|."""
    return {"y": abs(v["a"] * v["x"]) + abs(v["y"])}


def factor_zero(v: Values, draw: Generator) -> dict[str, Any]:
    """a = 0, which leaves y as it is but where x is Inf or NaN: 0 · Inf is NaN."""
    x = np.where(draw.random(v["x"].shape) < 0.05, draw.choice([np.inf, -np.inf, np.nan], v["x"].shape), v["x"])
    return {"a": 0.0, "x": x}


def factor_infinite(v: Values, draw: Generator) -> dict[str, Any]:
    """a = Inf, -Inf or NaN, and zeros in x: NaN there."""
    x = np.where(draw.random(v["x"].shape) < 0.05, 0.0, v["x"])
    return {"a": float(draw.choice([np.inf, -np.inf, np.nan])), "x": x}


def factor_tiny(v: Values, draw: Generator) -> dict[str, Any]:
    """a from 1e-42 to 1e-5, of either sign, and an x so large that a x counts; a third of them are denormal."""
    return _scaled(v, draw, draw.uniform(-42, -38) if draw.random() < 1 / 3 else draw.uniform(-30, -5))


def factor_large(v: Values, draw: Generator) -> dict[str, Any]:
    """a from 1e5 to 1e30, and an x so small that a x is no more than y."""
    return _scaled(v, draw, draw.uniform(5, 30))


def _scaled(v: Values, draw: Generator, exponent: float) -> dict[str, Any]:
    factor = float(np.float32(draw.choice([-1, 1]) * 10.0**exponent))
    x = v["x"].astype(np.float64) / abs(factor)
    most = float(np.finfo(np.float32).max)
    product = min(1.0, most * abs(factor))  # what the largest x comes to, where a is denormal
    return {"a": factor, "x": np.clip(x, -most, most), "y": v["y"] * product}


def factor_one(v: Values, draw: Generator) -> dict[str, Any]:
    """a = 1 or -1."""
    return {"a": float(draw.choice([-1.0, 1.0]))}


def huge(v: Values, draw: Generator) -> dict[str, Any]:
    """Products that float32 holds, sums that it may not."""
    values = {
        name: draw.uniform(1e38, 3.4e38, v[name].shape) * draw.choice([-1, 1], v[name].shape) for name in ("x", "y")
    }
    return {"a": float(draw.uniform(0.5, 1.0)), **values}


def torch_add(v: Values) -> object:
    """PyTorch's scaled addition, in place."""
    return v["y"].add_(v["x"], alpha=v["a"])


problem = Problem(
    name="saxpy",
    title="SAXPY, y = a x + y, float32",
    parameters=(size("n"), scalar("a"), array("x", "float32", "n"), array("y", "float32", "n", role="inout")),
    reference=reference,
    magnitude=magnitude,
    terms="2",
    exact=True,
    zeros=("n",),
    public=({"n": 1024}, {"n": 1000}, {"n": 4099}, {"n": 1}),
    largest={"n": 20_000},
    widest={"n": 3_000_000},
    special={
        "a = 0": factor_zero,
        "a = ±1": factor_one,
        "tiny a": factor_tiny,
        "large a": factor_large,
        "a = ±Inf or NaN": factor_infinite,
        "huge": huge,
    },
    tiles=(32, 256, 1024),
    observed={"n": 1 << 16},
    timed={"n": 1 << 26},
    flops="2*n",
    bytes="12*n",
    pieces="n",
    peers={"torch.add": Peer(torch_add)},
    torch_ops=("aten::add_", "aten::_foreach_add_"),
)
