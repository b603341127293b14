"""A step of stable fluids on a periodic field: velocity carries itself along, then pressure takes out what piles up.

Velocities lie on the faces of cells, u of `velocity[0]` on the left one of its cell and v of `velocity[1]` on the upper
one (Stam 1999, on the grid of Harlow and Welch 1965). With the means ū, v̄ of the four nearest velocities of the other
kind, and straight lines between the points of the grid, what is at a face comes from where it was dt before:

    u*(x, y) = u(x - dt u, y - dt v̄)      v*(x, y) = v(x - dt ū, y - dt v)

Then four steps of damped Jacobi iteration from the pressure p that is given, in all cells at once,

    p += (p left + p right + p above + p below - 4 p - b) / 5      b = u* right - u* left + v* below - v* above

and  u = u* - (p - p left)  and  v = v* - (p - p above).  x goes right and y down; beyond an edge is the other edge.
Velocities are below 32 and dt is from 0 to 2: what comes from 64 cells away has gone round a small field many times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

STEPS = 4
DAMPED = 0.2
_FASTEST = 32.0  # cells a step of dt = 1
_LEFT, _UP = (0, 1), (1, 0)  # from where np.roll brings a neighbour, as down and across


def beside(field: Array, down: int, across: int) -> Array:
    """Of each cell the neighbour so far above and left of it, the field being periodic."""
    return np.roll(field, (down, across), (-2, -1))


def displacements(u: Array, v: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """(across, down) of what comes to the faces of u, and to those of v, for dt = 1."""
    v_mean = (v + beside(v, 0, 1) + beside(v, -1, 0) + beside(v, -1, 1)) / 4
    u_mean = (u + beside(u, 1, 0) + beside(u, 0, -1) + beside(u, 1, -1)) / 4
    return (u, v_mean), (u_mean, v)


def corners(field: Array, across: Array, down: Array) -> tuple[list[Array], Array, Array]:
    """The four values around each point less its displacement, row by row, and how far it lies between them."""
    height, width = field.shape
    left, top = np.floor(-across), np.floor(-down)
    column = (np.arange(width) + left.astype(np.int64)) % width
    row = (np.arange(height)[:, None] + top.astype(np.int64)) % height
    right, below = (column + 1) % width, (row + 1) % height
    four = [field[row, column], field[row, right], field[below, column], field[below, right]]
    return four, -across - left, -down - top


def between(four: list[Array], share_x: Array, share_y: Array) -> Array:
    """On the straight lines between four values."""
    upper, lower = four[0] + share_x * (four[1] - four[0]), four[2] + share_x * (four[3] - four[2])
    return upper + share_y * (lower - upper)


def carried(v: Values) -> list[Array]:
    """u* and v*."""
    both = v["velocity"]
    moves = displacements(*both)
    return [between(*corners(field, v["dt"] * a, v["dt"] * d)) for field, (a, d) in zip(both, moves, strict=True)]


def reference(v: Values) -> dict[str, Array]:
    """Carried along, then four steps of the pressure and its slope."""
    u, w = carried(v)
    b = beside(u, 0, -1) - u + beside(w, -1, 0) - w
    p = v["pressure"]
    for _ in range(STEPS):
        around = beside(p, 0, 1) + beside(p, 0, -1) + beside(p, 1, 0) + beside(p, -1, 0)
        p = p + DAMPED * (around - 4 * p - b)
    return {"velocity_after": np.stack([u - (p - beside(p, *_LEFT)), w - (p - beside(p, *_UP))]), "pressure_after": p}


def magnitude(v: Values) -> dict[str, Array]:
    """Every term added; what is carried has besides the error of the place it comes from, times the slope there."""
    dt, both = v["dt"], abs(v["velocity"])
    sizes = displacements(*both)
    terms = []
    for field, (a, d), (far, deep) in zip(v["velocity"], displacements(*v["velocity"]), sizes, strict=True):
        four, share_x, share_y = corners(field, dt * a, dt * d)
        columns, rows = np.arange(field.shape[1]), np.arange(field.shape[0])[:, None]
        slope_x = np.maximum(abs(four[1] - four[0]), abs(four[3] - four[2]))
        slope_y = np.maximum(abs(four[2] - four[0]), abs(four[3] - four[1]))
        place = slope_x * (columns + 4 * dt * far) + slope_y * (rows + 4 * dt * deep)
        terms.append(2 * between([abs(one) for one in four], share_x, share_y) + place)
    u, w = terms
    b = beside(u, 0, -1) + u + beside(w, -1, 0) + w
    p = abs(v["pressure"])
    for _ in range(STEPS):
        p = p + DAMPED * (beside(p, 0, 1) + beside(p, 0, -1) + beside(p, 1, 0) + beside(p, -1, 0) + b)
    slopes = [u + p + beside(p, *_LEFT), w + p + beside(p, *_UP)]
    return {"velocity_after": np.stack(slopes), "pressure_after": p}


def within_reach(v: Values) -> dict[str, Any]:
    """Velocities below 32, dt between 0 and 2."""
    drawn, velocity = abs(v["dt"]), v["velocity"]
    slower = velocity / (1 + abs(velocity) / _FASTEST)
    return {"velocity": slower.astype(np.float32), "dt": float(np.float32(2 * drawn / (1 + drawn)))}


def whole_cells(v: Values, draw: Generator) -> dict[str, Any]:
    """What is carried comes from points of the grid, from all sides: who cuts off instead of rounding down is wrong
    beside them alone.
    """
    velocity = np.round(3 * v["velocity"] / (1 + abs(v["velocity"])))
    velocity[1] = velocity[1, :1, :1]  # or means of four are no whole numbers
    return {"velocity": velocity, "dt": 1.0}


def many_times_round(v: Values, draw: Generator) -> dict[str, Any]:
    """What is carried comes from far away, across several edges where the field is small."""
    velocity = draw.choice([-1.0, 1.0], v["velocity"].shape) * draw.uniform(20, 31.5, v["velocity"].shape)
    if draw.random() < 0.5:  # the means of four neighbours are as large then
        velocity = np.broadcast_to(velocity[:, :1, :1], velocity.shape).copy()
    return {"velocity": velocity, "dt": float(draw.uniform(1.5, 2))}


def vortices(v: Values, draw: Generator) -> dict[str, Any]:
    """Vortices of Taylor and Green, one period of the field each way, with the pressure that belongs to them."""
    height, width = v["pressure"].shape
    across, down = 2 * np.pi * np.arange(width) / width, 2 * np.pi * np.arange(height)[:, None] / height
    half_x, half_y = np.pi / width, np.pi / height
    u = np.sin(half_y) * height * np.sin(across) * np.cos(down + half_y) / 8
    w = -np.sin(half_x) * width * np.cos(across + half_x) * np.sin(down) / 8
    pressure = (np.cos(2 * across + 2 * half_x) + np.cos(2 * down + 2 * half_y)) / 4
    limit = max(1.0, abs(u).max(initial=0), abs(w).max(initial=0))
    return {"velocity": np.stack([u / limit, w / limit]), "pressure": pressure, "dt": 0.8}


problem = Problem(
    name="stable_fluids",
    title="Stable fluids, a step of advection and projection, float32",
    parameters=(
        array("velocity", "float32", "2", "H", "W"),
        array("pressure", "float32", "H", "W"),
        array("velocity_after", "float32", "2", "H", "W", role="out"),
        array("pressure_after", "float32", "H", "W", role="out"),
        array("work", "float32", "5", "H", "W", role="scratch"),
        size("H"),
        size("W"),
        scalar("dt"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=within_reach,
    special={"whole cells": whole_cells, "many times round": many_times_round, "vortices": vortices},
    terms="8",
    without={
        "nonfinite": "a place that is infinitely far is none on the field",
        "not a number": "a place that is no number is none on the field",
    },
    public=(
        {"H": 24, "W": 64},
        {"H": 41, "W": 37},
        {"H": 67, "W": 20},
        {"H": 1, "W": 1},
        {"H": 2, "W": 3},
        {"H": 5, "W": 3},
        {"H": 1, "W": 130},
        {"H": 45, "W": 6},
    ),
    largest={"H": 60, "W": 70},
    widest={"H": 1_950, "W": 2_000},
    tiles=(8, 32, 39, 55),
    observed={"H": 96, "W": 160},
    timed={"H": 1920, "W": 1920},
    flops="90*H*W",
    bytes="24*H*W",
)
