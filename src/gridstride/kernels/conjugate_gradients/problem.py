"""Four steps of conjugate gradients on an implicit step of the heat equation, float32: A x = b from a first guess.

    (A x) of a cell = (1 + 4 r) x - r (above + below + left + right)      beyond the field x is 0

with r = α Δt / Δx² between 0 and 1. A is symmetric and positive definite, with eigenvalues from 1 to 1 + 8 r. With the
residual g = b - A x and the direction p = g to begin with, a step is

    a = g·g / p·A p      x += a p      g -= a A p      p = g + (g·g as it is / g·g as it was) p

Where g·g is 0 the answer is there, and x stays as it is. b and the first guess are numbers: one Inf or NaN among them
would make all of x NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

STEPS = 4


def applied(x: Array, r: float) -> Array:
    """A x."""
    neighbours = np.zeros_like(x)
    neighbours[1:] += x[:-1]
    neighbours[:-1] += x[1:]
    neighbours[:, 1:] += x[:, :-1]
    neighbours[:, :-1] += x[:, 1:]
    return (1 + 4 * r) * x - r * neighbours


def moves(v: Values) -> list[Array]:
    """What each step adds to x."""
    g = v["b"] - applied(v["start"], v["r"])
    p, square, added = g.copy(), (g * g).sum(), []
    for _ in range(STEPS):
        q = applied(p, v["r"])
        curvature = (p * q).sum()
        a = square / curvature if curvature > 0 else 0.0
        added.append(a * p)
        g = g - a * q
        last_square, square = square, (g * g).sum()
        p = g + (square / last_square if last_square > 0 else 0.0) * p
    return added


def reference(v: Values) -> dict[str, Array]:
    """The guess after four steps."""
    return {"x": v["start"] + sum(moves(v))}


def magnitude(v: Values) -> dict[str, Array]:
    """The first residual has its rounding from b and the guess around each cell; steps carry it to the neighbours."""
    r = v["r"]
    first = abs(v["b"]) + 2 * (1 + 4 * r) * abs(v["start"]) - applied(abs(v["start"]), r)
    for _ in range(STEPS):  # (1 + 5 r) first less A first: first and what flows in from around it
        first = ((2 + 5 * r) * first - applied(first, r)) / (1 + 5 * r)
    return {"x": abs(v["start"]) + sum(abs(added) for added in moves(v)) + first}


def numbers(v: Values) -> dict[str, Any]:
    """r between 0 and 1, and no Inf or NaN."""
    drawn = abs(v["r"])
    fields = {name: np.where(np.isfinite(v[name]), v[name], np.float32(1)) for name in ("b", "start")}
    return {**fields, "r": float(np.float32(drawn / (1 + drawn)))}


def short_steps(v: Values, draw: Generator) -> dict[str, Any]:
    """A small r: the residual is a thousandth of itself after each step, and its square soon a billionth."""
    return {"r": float(np.float32(10.0 ** draw.uniform(-3.0, -1.5)))}


def warm_body(v: Values, draw: Generator) -> dict[str, Any]:
    """Temperatures of a plate that is cold but for one cell, and themselves the first guess, as a time step has it."""
    plate = np.zeros_like(v["b"])
    if plate.size:
        plate.flat[draw.integers(plate.size)] = 100.0
    return {"b": plate, "start": plate.copy(), "r": 0.75}


problem = Problem(
    name="conjugate_gradients",
    title="Conjugate gradients, four steps on an implicit heat equation, float32",
    parameters=(
        array("b", "float32", "H", "W"),
        array("start", "float32", "H", "W"),
        array("x", "float32", "H", "W", role="out"),
        array("work", "float32", "7", "H", "W", role="scratch"),
        size("H"),
        size("W"),
        scalar("r"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=numbers,
    special={"warm body": warm_body, "short steps": short_steps},
    terms="64",
    without={
        "nonfinite": "one infinite cell makes every sum and with it the whole answer NaN",
        "denormal": "the square of such a number is 0 in float32",
    },
    public=(
        {"H": 16, "W": 64},
        {"H": 21, "W": 67},
        {"H": 70, "W": 31},
        {"H": 1, "W": 1},
        {"H": 2, "W": 5},
        {"H": 9, "W": 130},
    ),
    largest={"H": 40, "W": 70},
    widest={"H": 1_000, "W": 1_200},
    tiles=(8, 30, 32),
    observed={"H": 128, "W": 240},
    timed={"H": 2048, "W": 2048},
    flops="76*H*W",
    bytes="12*H*W",
)
