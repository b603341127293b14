"""An all-reduce: every GPU has n numbers, and at the end each of them has the sum of all."""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size

LARGEST = 1 << 24


def numbers(v: Values) -> dict[str, object]:
    """Each GPU's about a level of its own, so that whose were added twice shows; their sums fit 32 bits."""
    x = np.abs(np.asarray(v["x"], np.int64)) % LARGEST
    levels = 100_003 * (1 + np.arange(len(x)))[:, None]
    return {"x": ((x + levels) % LARGEST).astype(np.int32)}


def reference(v: Values) -> dict[str, Array]:
    """The sum, once for each GPU."""
    x = np.asarray(v["x"], np.int64)
    return {"sums": np.broadcast_to(x.sum(axis=0), x.shape).astype(np.int32)}


problem = Problem(
    name="allreduce",
    title="Numbers of several GPUs added up, the sum on each of them",
    parameters=(
        array("x", "int32", "gpus", "n"),
        array("sums", "int32", "gpus", "n", role="out"),
        size("n"),
        size("gpus"),
    ),
    reference=reference,
    arrange=numbers,
    exact=True,
    bitwise=True,
    public=({"n": 1000, "gpus": 3}, {"n": 77, "gpus": 2}),
    largest={"n": 65536, "gpus": 8},
    observed={"n": 65536, "gpus": 4},
    timed={"n": 65536, "gpus": 4},
    flops="(gpus - 1)*n",
    bytes="8*n*gpus",
)
