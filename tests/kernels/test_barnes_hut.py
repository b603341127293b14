"""Barnes and Hut: with a theta of 0 the tree is the sum over all pairs, and it tends to that as theta falls."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find
from gridstride.kernels.barnes_hut.problem import EDGE, tree, within
from gridstride.kernels.nbody.problem import accelerations

RUNGS = [file.name for file in find("barnes_hut").rungs()]
SOFTENING = 2.0


def cluster(many: int, seed: int = 4) -> np.ndarray:
    """(many, 4) bodies on whole numbers, most of them in the middle."""
    draw = np.random.default_rng(seed)
    places = (EDGE / 2 + 120 * draw.standard_normal((many, 3))).clip(0, EDGE - 1).round()
    return np.column_stack((places, draw.uniform(0.1, 1, many)))


def pulls(name: str, bodies: np.ndarray, sources: np.ndarray, opening: float) -> np.ndarray:
    """By a rung in float32."""
    size = 2 * len(sources)
    with gs.use("virtual"):
        rung = Rung("barnes_hut", {"m": len(bodies), "n": size}, name)
        grown = tree(sources, size)
        arrays = [
            gs.to_device(bodies.astype(np.float32)),
            *(gs.to_device(grown[k]) for k in ("nodes", "cells", "next")),
        ]
        result = gs.empty((len(bodies), 3))
        rung(*arrays, result, len(bodies), size, opening, SOFTENING)
        return result.numpy().astype(np.float64)


@pytest.mark.parametrize("name", RUNGS)
def test_a_theta_of_0_is_the_sum_over_all_pairs(name: str) -> None:
    bodies = cluster(300)
    direct = accelerations(bodies, bodies, SOFTENING, absolute=False)
    scale = accelerations(bodies, bodies, SOFTENING, absolute=True)
    assert abs((pulls(name, bodies, bodies, 1e30) - direct) / scale).max() < 2e-6


@pytest.mark.parametrize("name", RUNGS)
def test_the_error_falls_with_theta(name: str) -> None:
    bodies = cluster(400)
    direct = accelerations(bodies, bodies, SOFTENING, absolute=False)
    errors = []
    for theta in (1.0, 0.7, 0.5, 0.35):
        away = pulls(name, bodies, bodies, 1 / theta**2) - direct
        errors.append(np.sqrt((away**2).sum() / (direct**2).sum()))
    assert all(after < before / 1.5 for before, after in itertools.pairwise(errors)), errors
    assert errors[2] < 0.01


@pytest.mark.parametrize("name", RUNGS)
def test_where_nothing_is_opened_all_pull_as_one(name: str) -> None:
    sources, bodies = cluster(200), cluster(37, seed=9)
    mass = sources[:, 3].sum()
    centre = (sources[:, 3:] * sources[:, :3]).sum(0) / mass
    one = accelerations(bodies, np.array([[*centre, mass]]), SOFTENING, absolute=False)
    np.testing.assert_allclose(pulls(name, bodies, sources, 0.0), one, rtol=1e-4, atol=1e-7)


def test_nodes_hold_what_is_within_them() -> None:
    sources = cluster(250)
    sources[7, :3] = sources[8, :3]  # two at one place are one
    grown = tree(sources, 2 * len(sources))
    nodes, cells = (grown[name].astype(np.float64) for name in ("nodes", "cells"))
    children, count = within(grown["next"]), int(grown["next"][0])
    assert nodes[0, 3] == pytest.approx(sources[:, 3].sum())
    assert (cells[:count, 3] == 0).sum() == len(np.unique(sources[:, :3], axis=0))
    for k in range(count):
        inside = children.numbers[children.first[k] : children.first[k] + children.counts[k]]
        assert len(inside) != 1
        assert (cells[k, 3] == 0) == (len(inside) == 0)
        if len(inside):
            assert nodes[k, 3] == pytest.approx(nodes[inside, 3].sum())
            half, halves = np.sqrt(cells[k, 3]) / 2, np.sqrt(cells[inside, 3])[:, None] / 2
            assert (abs(cells[inside, :3] - cells[k, :3]) + halves <= half).all()
