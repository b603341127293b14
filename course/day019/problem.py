"""Batches centred: mean[b] = sum(x[b]) / n, rounded down, and y[b] = x[b] - mean[b]."""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size

LARGEST = 10_000


def readings(v: Values) -> dict[str, object]:
    """From 0 to below LARGEST, whatever was drawn, and each batch about a level of its own: a sum fits 32 bits. Every
    other mean lies just below a whole number, to which a sum that is rounded to a float takes it.
    """
    x = np.abs(np.asarray(v["x"], np.int64))
    levels = 1 + 613 * np.arange(len(x))[:, None]
    x = (x + levels) % LARGEST
    for batch in x[::2]:
        more = -1 - int(batch.sum()) % batch.size  # of the sum, so that it is one less than a multiple of the size
        _change(batch, more if more > -batch.size else 0)
    return {"x": x.astype(np.int32)}


def _change(batch: Array, more: int) -> None:
    """Take so much from the readings one after another, as far as each of them goes."""
    taken = np.minimum(batch, np.maximum(0, -more - (np.cumsum(batch) - batch)))
    batch -= taken


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
