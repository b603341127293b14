"""A sound with its echo: y[i] = x[i] + x[i - lag] / 2, rounded down, and nothing sounded before x[0]."""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size

LOUDEST = 500_000_000
"""So much that hardly a sum of two samples is a sample, too: it shows who has computed it. Three fit into 32 bits."""


def samples(v: Values) -> dict[str, object]:
    """From 0 to below LOUDEST, whatever was drawn, and different from one to the next: no echo is a sound's own."""
    x = np.abs(np.asarray(v["x"], np.int64))
    return {"x": ((x * 7919 + 31 * np.arange(len(x))) * 15_485_863 % LOUDEST).astype(np.int32)}


def reference(v: Values) -> dict[str, Array]:
    """The echo of what came `lag` before."""
    x, lag = np.asarray(v["x"], np.int64), v["lag"]
    before = np.concatenate([np.zeros(lag, np.int64), x])[: len(x)]
    return {"y": (x + before // 2).astype(np.int32)}


problem = Problem(
    name="echo",
    title="A long recording and its echo",
    parameters=(
        array("x", "int32", "n"),
        array("y", "int32", "n", role="out"),
        array("before", "int32", "lag", role="scratch"),  # what a piece has of the one before: it makes lag a size
        size("n"),
        size("lag"),
    ),
    reference=reference,
    arrange=samples,
    exact=True,
    bitwise=True,
    public=({"n": 1000, "lag": 30}, {"n": 77, "lag": 100}),
    largest={"n": 1048576, "lag": 900},
    observed={"n": 1048576, "lag": 600},
    timed={"n": 1048576, "lag": 600},
    flops="2*n",
    bytes="12*n",
)
