"""The dearest tenth: prices from 0 to below 4096, sorted, and the sum of the n // 10 largest."""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size

PRICES = 4096


def prices(v: Values) -> dict[str, object]:
    """All digits of the prices differ from one element to the next, and many prices come more than once."""
    drawn = np.abs(np.asarray(v["x"], np.int64)) + 2_654_435 * np.arange(np.asarray(v["x"]).size)
    return {"x": (drawn % PRICES).astype(np.int32)}


def reference(v: Values) -> dict[str, Array]:
    """In order, and added up."""
    y = np.sort(np.asarray(v["x"], np.int64))
    return {"y": y.astype(np.int32), "total": np.asarray([y[y.size - y.size // 10 :].sum()], np.int32)}


problem = Problem(
    name="dearest",
    title="Prices in order, and what the dearest tenth costs",
    parameters=(
        array("x", "int32", "n"),
        array("y", "int32", "n", role="out"),
        array("total", "int32", "1", role="out"),
        size("n"),
    ),
    reference=reference,
    arrange=prices,
    exact=True,
    bitwise=True,
    public=({"n": 1000}, {"n": 77}),
    largest={"n": 20_000},
    observed={"n": 20_000},
    timed={"n": 20_000},
    flops="n",
    bytes="24*n",
)
