"""One step of the lattice Boltzmann method with nineteen velocities in space (D3Q19, BGK), float32.

Every cell has nineteen populations: f[i] moves by c[i] = (cx, cy, cz) in a step, along W, H and D, a periodic field.
A fluid cell (kind 0) takes in, for each i, the population i of the cell at its place less c[i]; where that is a wall
(kind 1) its own one of the opposite direction comes back, and where it is a wall that moves along x (kind 2), that plus
6 w[i] cx[i] speed. What came in adds up to a density rho and a momentum rho u, and is drawn towards equilibrium,

    e[i] = w[i] rho (1 + 3 c·u + 9/2 (c·u)² - 3/2 u·u)     after[i] = g[i] + omega (e[i] - g[i]) + 3 w[i] cx[i] force

Walls are held at the equilibrium of rho = 1 at rest. Directions come in pairs: 2 k is the opposite of 2 k - 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

CX = (0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0)
CY = (0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1)
CZ = (0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1)
OPPOSITE = (0, *(i + 1 if i % 2 else i - 1 for i in range(1, 19)))
WEIGHTS = (1 / 3, *[1 / 18] * 6, *[1 / 36] * 12)
FLUID, WALL, MOVING = range(3)
DIRECTIONS = tuple(zip(CX, CY, CZ, strict=True))


def equilibrium(rho: Any, ux: Any, uy: Any, uz: Any) -> list[Any]:
    """The nineteen populations of a density and a velocity."""
    along = [cx * ux + cy * uy + cz * uz for cx, cy, cz in DIRECTIONS]
    square = ux * ux + uy * uy + uz * uz
    return [w * rho * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * square) for w, cu in zip(WEIGHTS, along, strict=True)]


def arrived(v: Values) -> list[Array]:
    """What streams into each cell, as if all were fluid."""
    f, kinds = v["f"], v["kinds"]
    incoming = []
    for i, (cx, cy, cz) in enumerate(DIRECTIONS):
        source = np.roll(kinds, (cz, cy, cx), (0, 1, 2))
        back = f[OPPOSITE[i]] + np.where(source == MOVING, 6 * WEIGHTS[i] * cx * v["speed"], 0.0)
        incoming.append(np.where(source == FLUID, np.roll(f[i], (cz, cy, cx), (0, 1, 2)), back))
    return incoming


def reference(v: Values) -> dict[str, Array]:
    """Streaming, then collision."""
    g, omega = arrived(v), v["omega"]
    rho = sum(g)
    ux, uy, uz = (sum(c * p for c, p in zip(axis, g, strict=True)) / rho for axis in (CX, CY, CZ))
    populations = []
    for i, e in enumerate(equilibrium(rho, ux, uy, uz)):
        collided = g[i] + omega * (e - g[i]) + 3 * WEIGHTS[i] * CX[i] * v["force"]
        populations.append(np.where(v["kinds"] == FLUID, collided, WEIGHTS[i]))
    return {"after": np.stack(populations)}


def magnitude(v: Values) -> dict[str, Array]:
    """Rounding of the momenta, sums of populations of both signs, reaches each equilibrium by its weight."""
    g, omega = [abs(p) for p in arrived(v)], v["omega"]
    rho = sum(g)
    return {"after": np.stack([(1 + omega) * p + 8 * omega * w * rho for p, w in zip(g, WEIGHTS, strict=True)])}


def near_equilibrium(v: Values) -> dict[str, Any]:
    """Populations within a half of those at rest, boxes of 4 by 8 by 16 cells of one kind each, most of them fluid, and
    numbers for which the method is stable.
    """
    drawn, boxes = v["f"], v["kinds"][::4, ::8, ::16]
    share = 1 + drawn / (2 * (1 + abs(drawn)))
    kinds = np.where(boxes < 48, boxes % 3, FLUID).repeat(4, 0).repeat(8, 1).repeat(16, 2)
    depth, height, width = drawn.shape[1:]

    def squashed(name: str) -> float:
        return v[name] / (1 + abs(v[name]))

    return {
        "f": (share * np.array(WEIGHTS)[:, None, None, None]).astype(np.float32),
        "kinds": kinds[:depth, :height, :width].astype(np.uint8),
        "omega": float(np.float32(1.2 + 0.7 * squashed("omega"))),
        "speed": float(np.float32(0.05 * squashed("speed"))),
        "force": float(np.float32(0.001 * squashed("force"))),
    }


def walls_anywhere(v: Values, draw: Generator) -> dict[str, Any]:
    """Every kind as often as any other: each cell has walls around it, of both sorts."""
    return {"kinds": draw.integers(0, 3, v["kinds"].shape).astype(np.uint8)}


def cavity(v: Values, draw: Generator) -> dict[str, Any]:
    """A box with walls all around, of which the lid moves."""
    kinds = np.full_like(v["kinds"], WALL)
    kinds[1:-1, 1:-1, 1:-1] = FLUID
    kinds[:, 0] = MOVING
    return {"kinds": kinds}


problem = Problem(
    name="lattice_boltzmann_3d",
    title="Lattice Boltzmann, a step of D3Q19 with walls, float32",
    parameters=(
        array("f", "float32", "19", "D", "H", "W"),
        array("kinds", "uint8", "D", "H", "W"),
        array("after", "float32", "19", "D", "H", "W", role="out"),
        size("D"),
        size("H"),
        size("W"),
        scalar("omega"),
        scalar("speed"),
        scalar("force"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=near_equilibrium,
    special={"walls anywhere": walls_anywhere, "cavity": cavity},
    terms="19",
    without={"nonfinite": "a population is a share of a density: it is finite"},
    public=(
        {"D": 4, "H": 6, "W": 32},
        {"D": 5, "H": 7, "W": 33},
        {"D": 9, "H": 3, "W": 20},
        {"D": 1, "H": 1, "W": 1},
        {"D": 2, "H": 2, "W": 2},
        {"D": 3, "H": 1, "W": 130},
        {"D": 2, "H": 11, "W": 4},
    ),
    largest={"D": 9, "H": 12, "W": 50},
    widest={"D": 900, "H": 1_000, "W": 1_100},
    tiles=(2, 4, 32, 128),
    observed={"D": 4, "H": 8, "W": 128},
    timed={"D": 256, "H": 256, "W": 256},
    flops="280*D*H*W",
    bytes="153*D*H*W",
)
