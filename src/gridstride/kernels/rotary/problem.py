"""Rotary positions: numbers i and i + D/2 of each head are turned by the angle of the token's position, y = x e^(±ia).

low cos - high sin and high cos + low sin, for `direction` 1; the gradient is the turn back, `direction` -1. Row n of x
has the angles of row n mod C of the tables, whose rows are `gap` numbers longer than the D/2 that are read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, scalar, size

WIDTH = 64  # of a head; the kernels take others by macro


def _angles(v: Values) -> tuple[Array, Array]:
    rows = np.arange(v["x"].shape[0]) % v["cosine"].shape[0]
    cosine, sine = (v[name][rows, None, : WIDTH // 2] for name in ("cosine", "sine"))
    return cosine, sine * v["direction"]


def reference(v: Values) -> dict[str, Array]:
    """The turn, in float64."""
    low, high = np.split(v["x"], 2, axis=-1)
    c, s = _angles(v)
    return {"y": np.concatenate((low * c - high * s, high * c + low * s), axis=-1)}


def magnitude(v: Values) -> dict[str, Array]:
    """The same with both products added up."""
    low, high = np.split(abs(v["x"]), 2, axis=-1)
    c, s = (abs(angle) for angle in _angles(v))
    return {"y": np.concatenate((low * c + high * s, high * c + low * s), axis=-1)}


def arrange(v: Values) -> dict[str, Any]:
    """A direction is 1 or -1."""
    return {"direction": 1.0 if v["direction"] >= 0 else -1.0}


def quarters(v: Values, draw: Generator) -> dict[str, Any]:
    """Quarter turns: a half goes whole into the other."""
    turns = draw.integers(0, 4, v["cosine"].shape)
    return {"cosine": np.array([1.0, 0.0, -1.0, 0.0])[turns], "sine": np.array([0.0, 1.0, 0.0, -1.0])[turns]}


def torch_rotary(v: Values) -> object:
    """As transformers write it."""
    import torch

    rows = torch.arange(v["x"].shape[0], device=v["x"].device) % v["cosine"].shape[0]
    c, s = (v[name][rows, None, : WIDTH // 2].repeat(1, 1, 2) for name in ("cosine", "sine"))
    low, high = v["x"].chunk(2, dim=-1)
    return torch.add(v["x"] * c, torch.cat((-high, low), -1) * (s * v["direction"]), out=v["y"])


problem = Problem(
    name="rotary",
    title="Rotary positions of heads, float32",
    parameters=(
        array("x", "float32", "N", "H", f"{WIDTH}"),
        array("cosine", "float32", "C", f"{WIDTH // 2}+gap"),
        array("sine", "float32", "C", f"{WIDTH // 2}+gap"),
        array("y", "float32", "N", "H", f"{WIDTH}", role="out"),
        size("N"),
        size("H"),
        size("C"),
        size("gap"),
        scalar("direction"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="2",
    zeros=("N", "gap"),
    arrange=arrange,
    public=(
        {"N": 6, "H": 4, "C": 6, "gap": 32},
        {"N": 37, "H": 3, "C": 5, "gap": 37},
        {"N": 90, "H": 2, "C": 37, "gap": 32},
        {"N": 1, "H": 1, "C": 1, "gap": 5},
    ),
    largest={"N": 260, "H": 5, "C": 120, "gap": 40},
    widest={"N": 16_500, "C": 5000, "H": 17},
    special={"quarter turns": quarters},
    tiles=(4, 8, 16, 32),
    observed={"N": 64, "H": 16, "C": 32, "gap": 32},
    timed={"N": 65_536, "H": 16, "C": 8192, "gap": 32},
    flops=f"3*N*H*{WIDTH}",
    bytes=f"8*N*H*{WIDTH}",
    peers={"torch": Peer(torch_rotary)},
)
