"""Gravity between all pairs of bodies: the acceleration of each, with G = 1 and softened, float32.

    a_i = sum over j of m_j (x_j - x_i) / (|x_j - x_i|² + e²)^(3/2)

A body is x, y, z and its mass. The softening e² is above 0, so that the term of a body with itself is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

_AT_ONCE = 512  # bodies whose pairs are there at a time


def accelerations(bodies: Array, softening: float, *, absolute: bool) -> Array:
    """(n, 3): of each body; `absolute`: the sum of the terms' sizes."""
    result = np.empty((len(bodies), 3))
    for start in range(0, len(bodies), _AT_ONCE):
        part = bodies[start : start + _AT_ONCE]
        away = bodies[None, :, :3] - part[:, None, :3]
        weight = bodies[:, 3] / ((away**2).sum(-1) + softening) ** 1.5
        terms = away * weight[..., None]
        result[start : start + _AT_ONCE] = (abs(terms) if absolute else terms).sum(1)
    return result


def reference(v: Values) -> dict[str, Array]:
    """The sum over all bodies."""
    return {"accelerations": accelerations(v["bodies"], v["softening"], absolute=False)}


def magnitude(v: Values) -> dict[str, Array]:
    """The same with absolute values."""
    return {"accelerations": accelerations(v["bodies"], v["softening"], absolute=True)}


def within_reach(v: Values) -> dict[str, Any]:
    """Distances whose cube a float holds, masses of either sign, and a softening between 0.0001 and 1."""
    bodies = np.array(v["bodies"])
    far = abs(bodies) > 1e9
    bodies[far] = np.copysign(np.float32(1e9), bodies[far])
    drawn = min(abs(v["softening"]), 1.0)
    return {"bodies": bodies, "softening": float(np.float32(1e-4 + drawn * (1 - 1e-4)))}


def light_and_heavy(v: Values, draw: Generator) -> dict[str, Any]:
    """One body in ten has nearly all of the mass: who leaves one out is wrong everywhere."""
    bodies = v["bodies"].copy()
    bodies[:, 3] = np.where(draw.random(len(bodies)) < 0.1, 1.0, 1e-3) * abs(bodies[:, 3])
    return {"bodies": bodies}


def clusters(v: Values, draw: Generator) -> dict[str, Any]:
    """Groups of bodies close to one another, all on one side of the origin: positions nearly cancel."""
    bodies = v["bodies"].copy()
    groups = draw.uniform(1.0, 2.0, (max(1, len(bodies) // 8), 3))
    bodies[:, :3] = groups[draw.integers(len(groups), size=len(bodies))] + bodies[:, :3] / 256
    return {"bodies": bodies}


problem = Problem(
    name="nbody",
    title="Gravity between all pairs of bodies, float32",
    parameters=(
        array("bodies", "float32", "n", "4"),
        array("accelerations", "float32", "n", "3", role="out"),
        size("n"),
        scalar("softening"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=within_reach,
    special={"light and heavy": light_and_heavy, "clusters": clusters},
    terms="n+8",
    without={"nonfinite": "a body at infinity pulls by 0 or by NaN, as the square of its distance is bracketed"},
    public=({"n": 256}, {"n": 1000}, {"n": 2}, {"n": 129}, {"n": 515}, {"n": 1}),
    largest={"n": 700},
    widest={"n": 1500},
    tiles=(32, 64, 128, 256),
    observed={"n": 1024},
    timed={"n": 1 << 15},
    flops="20*n*n",
    bytes="28*n",
)
