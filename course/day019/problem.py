"""Batches centred: mean[b] = sum(x[b]) / n, rounded down, and y[b] = x[b] - mean[b]."""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size

LARGEST = 10_000


def readings(v: Values) -> dict[str, object]:
    """From 0 to below LARGEST, whatever was drawn, and each batch about a level of its own: a sum fits 32 bits."""
    x = np.abs(np.asarray(v["x"], np.int64))
    levels = 1 + 613 * np.arange(len(x))[:, None]
    return {"x": ((x + levels) % LARGEST).astype(np.int32)}


def reference(v: Values) -> dict[str, Array]:
    """Each batch by itself."""
    x = np.asarray(v["x"], np.int64)
    means = x.sum(axis=1) // x.shape[1]
    return {"y": (x - means[:, None]).astype(np.int32), "means": means.astype(np.int32)}


problem = Problem(
    name="center",
    title="Batches of readings, each with its mean taken off",
    parameters=(
        array("x", "int32", "batches", "n"),
        array("y", "int32", "batches", "n", role="out"),
        array("means", "int32", "batches", role="out"),
        size("n"),
        size("batches"),
    ),
    reference=reference,
    arrange=readings,
    exact=True,
    bitwise=True,
    public=({"n": 1000, "batches": 3}, {"n": 77, "batches": 5}),
    largest={"n": 131072, "batches": 9},
    observed={"n": 131072, "batches": 6},
    timed={"n": 131072, "batches": 6},
    flops="3*n*batches",
    bytes="12*n*batches",
)
