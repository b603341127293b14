"""Gravity of n bodies on m: the acceleration of each of these, with G = 1 and softened, float32.

    a_i = sum over j of m_j (x_j - x_i) / (|x_j - x_i|² + e²)^(3/2)

A body is x, y, z and its mass. The softening e² is above 0, so that a body has no pull on itself: for all pairs of some
bodies, these are given as both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.header import SymbolicLaunch
from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

_AT_ONCE = 256  # bodies whose pairs are there at a time


def accelerations(bodies: Array, sources: Array, softening: float, *, absolute: bool) -> Array:
    """(m, 3): of each body; `absolute`: the sum of the terms' sizes."""
    result = np.empty((len(bodies), 3))
    for start in range(0, len(bodies), _AT_ONCE):
        part = bodies[start : start + _AT_ONCE]
        offsets = sources[None, :, :3] - part[:, None, :3]
        weight = sources[:, 3] / ((offsets**2).sum(-1) + softening) ** 1.5
        terms = offsets * weight[..., None]
        result[start : start + _AT_ONCE] = (abs(terms) if absolute else terms).sum(1)
    return result


def reference(v: Values) -> dict[str, Array]:
    """The sum over all bodies."""
    return {"accelerations": accelerations(v["bodies"], v["sources"], v["softening"], absolute=False)}


def magnitude(v: Values) -> dict[str, Array]:
    """The sum of absolute values, three times: a term has roundings of its own, of which its weight has a cube's."""
    return {"accelerations": 3 * accelerations(v["bodies"], v["sources"], v["softening"], absolute=True)}


def within_reach(v: Values) -> dict[str, Any]:
    """Distances whose cube a float holds, masses of either sign, and a softening between 0.0001 and 1."""

    def near(bodies: Array) -> Array:
        return np.where(abs(bodies) > 1e9, np.copysign(np.float32(1e9), bodies), bodies)

    drawn = min(abs(v["softening"]), 1.0)
    softening = float(np.float32(1e-4 + drawn * (1 - 1e-4)))
    return {"bodies": near(v["bodies"]), "sources": near(v["sources"]), "softening": softening}


def light_and_heavy(v: Values, draw: Generator) -> dict[str, Any]:
    """One body in ten has nearly all of the mass: who leaves one out is wrong everywhere."""
    sources = v["sources"].copy()
    sources[:, 3] = np.where(draw.random(len(sources)) < 0.1, 1.0, 1e-3) * abs(sources[:, 3])
    return {"sources": sources}


def clusters(v: Values, draw: Generator) -> dict[str, Any]:
    """Groups of bodies close to one another, all on one side of the origin: positions nearly cancel."""
    groups = draw.uniform(1.0, 2.0, (max(1, len(v["sources"]) // 8), 3))
    changed = {name: v[name].copy() for name in ("bodies", "sources")}
    for bodies in changed.values():
        bodies[:, :3] = groups[draw.integers(len(groups), size=len(bodies))] + bodies[:, :3] / 256
    return changed


def all_pairs(v: Values, draw: Generator) -> dict[str, Any]:
    """The bodies pull each other, as far as there are as many of both: a term is that of a body with itself."""
    shared = min(len(v["bodies"]), len(v["sources"]))
    bodies = v["bodies"].copy()
    bodies[:shared] = v["sources"][:shared]
    return {"bodies": bodies}


problem = Problem(
    name="nbody",
    title="Gravity of n bodies on m, float32",
    parameters=(
        array("bodies", "float32", "m", "4"),
        array("sources", "float32", "n", "4"),
        array("accelerations", "float32", "m", "3", role="out"),
        size("m"),
        size("n"),
        scalar("softening"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=within_reach,
    launch=SymbolicLaunch(grid=("ceil(m/128)",), block=("128",)),  # a thread for each body, not for each number
    special={"light and heavy": light_and_heavy, "clusters": clusters, "all pairs": all_pairs},
    terms="n+8",
    without={"nonfinite": "a body at infinity pulls by 0 or by NaN, as the square of its distance is bracketed"},
    public=(
        {"m": 256, "n": 256},
        {"m": 1000, "n": 300},
        {"m": 2, "n": 600},
        {"m": 129, "n": 1},
        {"m": 515, "n": 129},
        {"m": 1, "n": 1},
    ),
    largest={"m": 700, "n": 500},
    widest={"m": 70_000, "n": 70_000},
    tiles=(32, 64, 128, 256),
    observed={"m": 2048, "n": 512},
    timed={"m": 1 << 22, "n": 256},
    flops="20*m*n",
    bytes="28*m+16*n",
    pieces="m",
)
