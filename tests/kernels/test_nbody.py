"""N-body: what must be so of bodies that attract each other, by the rungs on the virtual GPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find

RUNGS = [file.name for file in find("nbody").rungs()]
Pull = Callable[[np.ndarray], np.ndarray]


def attraction(masses: np.ndarray, softening: float, name: str | None = None) -> Pull:
    """Accelerations at positions, by a rung in float32."""
    count = len(masses)
    rung = Rung("nbody", {"m": count, "n": count}, name)
    bodies, result = gs.empty((count, 4)), gs.empty((count, 3))

    def pull(positions: np.ndarray) -> np.ndarray:
        bodies.copy_from(np.column_stack((positions, masses)).astype(np.float32))
        rung(bodies, bodies, result, count, count, softening)
        return result.numpy().astype(np.float64)

    return pull


def energy(masses: np.ndarray, x: np.ndarray, v: np.ndarray, softening: float) -> float:
    distance = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1) + softening)
    pairs = np.triu(masses[:, None] * masses / distance, 1)
    return float((masses * (v**2).sum(1)).sum() / 2 - pairs.sum())


@pytest.mark.parametrize("name", RUNGS)
def test_forces_are_opposite_so_momentum_stays(name: str) -> None:
    draw = np.random.default_rng(3)
    masses, positions = draw.uniform(0.1, 2, 300), draw.standard_normal((300, 3))
    with gs.use("virtual"):
        a = attraction(masses, 0.01, name)(positions)
    force = masses[:, None] * a
    assert abs(force.sum(0)).max() < 1e-6 * abs(force).sum()


def test_one_body_feels_nothing_and_two_feel_each_other() -> None:
    with gs.use("virtual"):
        assert (attraction(np.ones(1), 0.5)(np.ones((1, 3))) == 0).all()
        a = attraction(np.array([2.0, 3.0]), 1e-4)(np.array([[0.0, 0, 0], [0, 2, 0]]))
    np.testing.assert_allclose(a, [[0, 3 / 4, 0], [0, -2 / 4, 0]], rtol=1e-4)


def test_the_figure_of_eight_closes_at_6_3259() -> None:
    """Three equal masses on one curve (Chenciner and Montgomery 2000; starting values of C. Simó)."""
    x = np.array([[0.97000436, -0.24308753, 0], [-0.97000436, 0.24308753, 0], [0.0, 0, 0]])
    v = np.array([[0.466203685, 0.43236573, 0], [0.466203685, 0.43236573, 0], [-0.93240737, -0.86473146, 0]])
    start, steps, period = x.copy(), 300, 6.3259
    cube = 2 ** (1 / 3)  # of fourth order (Yoshida 1990): three leapfrogs, the one in the middle backwards
    outer = period / steps / (2 - cube)
    furthest = 0.0
    with gs.use("virtual"):
        pull = attraction(np.ones(3), 1e-9)
        for _ in range(steps):
            for dt in (outer, -cube * outer, outer):
                x = x + v * (dt / 2)
                v = v + pull(x) * dt
                x = x + v * (dt / 2)
            furthest = max(furthest, float(abs(x - start).max()))
    assert furthest > 1
    np.testing.assert_allclose(x, start, atol=2e-4)


def test_energy_drifts_as_little_as_the_leapfrogs_square_of_the_step_allows() -> None:
    draw = np.random.default_rng(5)
    masses, softening = draw.uniform(0.5, 1.5, 40) / 40, 0.04
    x, v = draw.standard_normal((40, 3)), draw.standard_normal((40, 3)) / 3
    drift = []
    with gs.use("virtual"):
        pull = attraction(masses, softening)
        for steps in (25, 50):
            p, q, dt = x.copy(), v.copy(), 2 / steps
            for _ in range(steps):
                p = p + q * (dt / 2)
                q = q + pull(p) * dt
                p = p + q * (dt / 2)
            drift.append(abs(energy(masses, p, q, softening) / energy(masses, x, v, softening) - 1))
    assert drift[0] < 1e-3
    assert drift[1] < drift[0] / 3
