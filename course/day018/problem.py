"""Heat on a rod: in step s, x[n // 2] += heat[s], then 18 sweeps.

A sweep: to[i] = (from[i - 1] + 2 * from[i] + from[i + 1]) / 4. Integers, rounded down; a cell at an end has itself for
the neighbour that it lacks. seen[s] is x[n // 2] after step s, and y is x after all of them.
"""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size

SWEEPS = 18
WARMEST = 10_000
HOTTEST = 1_000_000


def temperatures(v: Values) -> dict[str, object]:
    """Cells from 0 to WARMEST and heat from 0 to HOTTEST, whatever was drawn: no sum overflows."""
    x, heat = (np.abs(np.asarray(v[name], np.int64)) for name in ("x", "heat"))
    scattered = heat * 40_503 + 977 * np.arange(heat.size)
    return {"x": (x % WARMEST).astype(np.int32), "heat": (scattered % HOTTEST).astype(np.int32)}


def swept(x: Array) -> Array:
    """One sweep."""
    left, right = np.concatenate([x[:1], x[:-1]]), np.concatenate([x[1:], x[-1:]])
    return np.asarray((left + 2 * x + right) // 4)


def reference(v: Values) -> dict[str, Array]:
    """Step by step."""
    x = np.asarray(v["x"], np.int64).copy()
    middle = x.size // 2
    seen = []
    for more in np.asarray(v["heat"], np.int64):
        x[middle] += more
        for _ in range(SWEEPS):
            x = swept(x)
        seen.append(x[middle])
    return {"y": x.astype(np.int32), "seen": np.asarray(seen, np.int32)}


problem = Problem(
    name="rod",
    title="Heat on a rod, twenty small kernels a step",
    parameters=(
        array("x", "int32", "n"),
        array("heat", "int32", "steps"),
        array("y", "int32", "n", role="out"),
        array("seen", "int32", "steps", role="out"),
        size("n"),
        size("steps"),
    ),
    reference=reference,
    arrange=temperatures,
    exact=True,
    bitwise=True,
    public=({"n": 1000, "steps": 3}, {"n": 77, "steps": 5}),
    largest={"n": 5000, "steps": 25},
    observed={"n": 1000, "steps": 25},
    timed={"n": 5000, "steps": 25},
    flops="4*18*n*steps",
    bytes="8*18*n*steps",
)
