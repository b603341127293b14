"""Rods that cool: rod r is cold but for heat[r] in its middle, and is swept until the middle has no more than COOL.

A sweep: to[i] = (from[i - 1] + 2 * from[i] + from[i + 1]) / 4. Integers, rounded down; a cell at an end has itself for
the neighbour that it lacks. sweeps[r] is how many there were, left[r] what the middle then has, and y the last rod.
"""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size

COOL = 1000
HOTTEST = 16_000


def heats(v: Values) -> dict[str, object]:
    """From 0 to HOTTEST; every fifth rod is cool as it is, every tenth has just what is cool, and the second and every
    tenth behind it has it after a sweep.
    """
    heat = np.abs(np.asarray(v["heat"], np.int64)) + 5_003 * np.arange(np.asarray(v["heat"]).size)
    heat %= HOTTEST
    heat[4::5] %= COOL
    heat[9::10] = COOL
    heat[1::10] = 2 * COOL  # a half of it stays
    return {"heat": heat.astype(np.int32)}


def swept(x: Array) -> Array:
    """One sweep."""
    left, right = np.concatenate([x[:1], x[:-1]]), np.concatenate([x[1:], x[-1:]])
    return np.asarray((left + 2 * x + right) // 4)


def cooled(heat: int, n: int) -> tuple[Array, int]:
    """A rod when its middle is cool, and after how many sweeps."""
    x, count = np.zeros(n, np.int64), 0
    x[n // 2] = heat
    while x[n // 2] > COOL:
        x, count = swept(x), count + 1
    return x, count


def reference(v: Values) -> dict[str, Array]:
    """Rod by rod."""
    n = int(np.asarray(v["n"]))
    rods = [cooled(int(heat), n) for heat in np.asarray(v["heat"])]
    return {
        "sweeps": np.asarray([count for _, count in rods], np.int32),
        "left": np.asarray([x[n // 2] for x, _ in rods], np.int32),
        "y": rods[-1][0].astype(np.int32),
    }


problem = Problem(
    name="rods",
    title="Rods that cool, each until it is cool",
    parameters=(
        array("heat", "int32", "rods"),
        array("sweeps", "int32", "rods", role="out"),
        array("left", "int32", "rods", role="out"),
        array("y", "int32", "n", role="out"),
        size("n"),
        size("rods"),
    ),
    reference=reference,
    arrange=heats,
    exact=True,
    bitwise=True,
    public=({"n": 100, "rods": 3}, {"n": 77, "rods": 6}),
    largest={"n": 1000, "rods": 25},
    observed={"n": 1000, "rods": 25},
    timed={"n": 1000, "rods": 25},
    flops="4*n*rods",
    bytes="8*n*rods",
)
