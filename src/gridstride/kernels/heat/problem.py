"""Four explicit steps of the heat equation on a grid whose edge is held at its temperature, float32.

One step gives every cell inside  u + r (above + below + left + right - 4 u)  with r = α Δt / Δx², between 0 and 1/4,
beyond which the scheme is unstable. Cells of the first and last row and column stay as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

STEPS = 4


def step(u: Array, r: float, centre: float = -4.0) -> Array:
    """The field one step later; `centre` is the weight of the cell itself in the Laplacian."""
    next_u = u.copy()
    neighbours = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    next_u[1:-1, 1:-1] += r * (neighbours + centre * u[1:-1, 1:-1])
    return next_u


def reference(v: Values) -> dict[str, Array]:
    """The field four steps later."""
    u = v["u"]
    for _ in range(STEPS):
        u = step(u, v["r"])
    return {"v": u}


def magnitude(v: Values) -> dict[str, Array]:
    """The same with every term added."""
    u = abs(v["u"])
    for _ in range(STEPS):
        u = step(u, v["r"], centre=4.0)
    return {"v": u}


def stable(v: Values) -> dict[str, Any]:
    """r between 0 and 1/4."""
    drawn = abs(v["r"])
    return {"r": float(np.float32(drawn / (1 + drawn) / 4))}


problem = Problem(
    name="heat",
    title="Heat equation, four explicit steps with fixed edges, float32",
    parameters=(
        array("u", "float32", "H", "W"),
        array("v", "float32", "H", "W", role="out"),
        size("H"),
        size("W"),
        scalar("r"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=stable,
    terms="24",
    without={"nonfinite": "what becomes of an infinite cell hangs on how its sum is bracketed"},
    public=(
        {"H": 32, "W": 64},
        {"H": 61, "W": 67},
        {"H": 131, "W": 40},
        {"H": 9, "W": 260},
        {"H": 3, "W": 3},
        {"H": 2, "W": 7},
        {"H": 1, "W": 1},
        {"H": 47, "W": 15},  # these two tell vectors that begin one element off
        {"H": 3, "W": 129},
    ),
    largest={"H": 150, "W": 130},
    widest={"H": 65_000, "W": 70_000},
    tiles=(8, 16, 24, 32, 120, 128),
    observed={"H": 192, "W": 240},
    timed={"H": 8192, "W": 8192},
    flops="28*H*W",
    bytes="8*H*W",
    pieces="H",
    halo=STEPS,
)
