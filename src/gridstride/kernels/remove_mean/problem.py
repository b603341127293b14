"""A signal without its mean: y[i] = x[i] - mean(x). Every result depends on every element."""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """The mean, taken from each element; of nothing it is nothing."""
    return {"y": v["x"] - np.sum(v["x"]) / max(1, len(v["x"]))}


def magnitude(v: Values) -> dict[str, Array]:
    """The mean is a sum of terms of both signs."""
    return {"y": abs(v["x"]) + np.sum(abs(v["x"])) / max(1, len(v["x"]))}


problem = Problem(
    name="remove_mean",
    title="A signal without its mean, float32",
    parameters=(array("x", "float32", "n"), array("y", "float32", "n", role="out"), size("n")),
    reference=reference,
    magnitude=magnitude,
    terms="n+1",
    zeros=("n",),
    public=({"n": 1024}, {"n": 1000}, {"n": 5}, {"n": 50_001}, {"n": 1}),
    largest={"n": 8_000},
    widest={"n": 100_000},
    tiles=(32, 256, 1024),
    observed={"n": 1 << 16},
    timed={"n": 1 << 24},
    flops="2*n",
    bytes="8*n",
)
