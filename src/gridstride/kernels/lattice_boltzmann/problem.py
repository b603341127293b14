"""One step of the lattice Boltzmann method with nine velocities in the plane (D2Q9, BGK), float32.

Every cell has nine populations: f[i] moves by c[i] = (cx, cy) in a step, down a column being +y. The field is periodic.
A fluid cell (kind 0) takes in, for each i, the population i of the cell at its place less c[i]; where that is a wall
(kind 1) its own one of the opposite direction comes back, and where it is a wall that moves along x (kind 2), that plus
6 w[i] cx[i] speed. What came in adds up to a density rho and a momentum rho u, and is drawn towards equilibrium,

    e[i] = w[i] rho (1 + 3 c·u + 9/2 (c·u)² - 3/2 u·u)     after[i] = g[i] + omega (e[i] - g[i]) + 3 w[i] cx[i] force

An open cell (kind 3) is held at the equilibrium of rho = 1 and u = (speed, 0), walls at that of rho = 1 at rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

CX = (0, 1, 0, -1, 0, 1, -1, -1, 1)
CY = (0, 0, 1, 0, -1, 1, 1, -1, -1)
OPPOSITE = (0, 3, 4, 1, 2, 7, 8, 5, 6)
WEIGHTS = (4 / 9, *[1 / 9] * 4, *[1 / 36] * 4)
FLUID, WALL, MOVING, OPEN = range(4)


def equilibrium(rho: Any, ux: Any, uy: Any) -> list[Any]:
    """The nine populations of a density and a velocity."""
    along = [cx * ux + cy * uy for cx, cy in zip(CX, CY, strict=True)]
    square = ux * ux + uy * uy
    return [w * rho * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * square) for w, cu in zip(WEIGHTS, along, strict=True)]


def arrived(v: Values) -> list[Array]:
    """What streams into each cell, as if all were fluid."""
    f, kinds = v["f"], v["kinds"]
    incoming = []
    for i, (cx, cy) in enumerate(zip(CX, CY, strict=True)):
        source = np.roll(kinds, (cy, cx), (0, 1))
        back = f[OPPOSITE[i]] + np.where(source == MOVING, 6 * WEIGHTS[i] * cx * v["speed"], 0.0)
        incoming.append(np.where((source == WALL) | (source == MOVING), back, np.roll(f[i], (cy, cx), (0, 1))))
    return incoming


def reference(v: Values) -> dict[str, Array]:
    """Streaming, then collision."""
    g, kinds, omega = arrived(v), v["kinds"], v["omega"]
    rho = sum(g)
    ux, uy = (sum(c * p for c, p in zip(axis, g, strict=True)) / rho for axis in (CX, CY))
    pushed = [3 * w * cx * v["force"] for w, cx in zip(WEIGHTS, CX, strict=True)]
    collided = [p + omega * (e - p) + push for p, e, push in zip(g, equilibrium(rho, ux, uy), pushed, strict=True)]
    inflow = equilibrium(1.0, v["speed"], 0.0)
    held = [np.where(kinds == OPEN, a, np.where(kinds == FLUID, b, w))
            for a, b, w in zip(inflow, collided, WEIGHTS, strict=True)]  # fmt: skip
    return {"after": np.stack(held)}


def magnitude(v: Values) -> dict[str, Array]:
    """Rounding of the momenta, sums of populations of both signs, reaches each equilibrium by its weight."""
    g, omega = [abs(p) for p in arrived(v)], v["omega"]
    rho = sum(g)
    return {"after": np.stack([(1 + omega) * p + 8 * omega * w * rho for p, w in zip(g, WEIGHTS, strict=True)])}


def near_equilibrium(v: Values) -> dict[str, Any]:
    """Populations within a half of those at rest, squares of 16 by 16 of one kind each, most of them fluid, and numbers
    for which the method is stable.
    """
    drawn, squares = v["f"], v["kinds"][::16, ::16]
    share = 1 + drawn / (2 * (1 + abs(drawn)))
    kinds = np.where(squares < 32, squares % 4, FLUID).repeat(16, 0).repeat(16, 1)

    def squashed(name: str) -> float:
        return v[name] / (1 + abs(v[name]))

    return {
        "f": (share * np.array(WEIGHTS)[:, None, None]).astype(np.float32),
        "kinds": kinds[: drawn.shape[1], : drawn.shape[2]].astype(np.uint8),
        "omega": float(np.float32(1.2 + 0.7 * squashed("omega"))),
        "speed": float(np.float32(0.05 * squashed("speed"))),
        "force": float(np.float32(0.001 * squashed("force"))),
    }


def walls_anywhere(v: Values, draw: Generator) -> dict[str, Any]:
    """Every kind as often as any other: each cell has walls beside it, of both sorts."""
    return {"kinds": draw.integers(0, 4, v["kinds"].shape).astype(np.uint8)}


def channel(v: Values, draw: Generator) -> dict[str, Any]:
    """A wall at the top that moves, one at the bottom that does not, and a flow that comes in from the left."""
    kinds = np.zeros_like(v["kinds"])
    kinds[:, 0] = OPEN
    kinds[0], kinds[-1] = MOVING, WALL
    return {"kinds": kinds}


problem = Problem(
    name="lattice_boltzmann",
    title="Lattice Boltzmann, a step of D2Q9 with walls, float32",
    parameters=(
        array("f", "float32", "9", "H", "W"),
        array("kinds", "uint8", "H", "W"),
        array("after", "float32", "9", "H", "W", role="out"),
        size("H"),
        size("W"),
        scalar("omega"),
        scalar("speed"),
        scalar("force"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=near_equilibrium,
    special={"walls anywhere": walls_anywhere, "channel": channel},
    terms="9",
    without={"nonfinite": "a population is a share of a density: it is finite"},
    public=(
        {"H": 16, "W": 64},
        {"H": 21, "W": 67},
        {"H": 40, "W": 132},
        {"H": 1, "W": 1},
        {"H": 2, "W": 2},
        {"H": 3, "W": 130},
        {"H": 17, "W": 8},
        {"H": 1, "W": 4},
    ),
    largest={"H": 60, "W": 140},
    widest={"H": 9_000, "W": 10_000},
    tiles=(8, 32, 128),
    observed={"H": 64, "W": 256},
    timed={"H": 2048, "W": 2048},
    flops="130*H*W",
    bytes="73*H*W",
)
