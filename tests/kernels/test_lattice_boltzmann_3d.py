"""Lattice Boltzmann in space: flows that are known, by the rungs on the virtual GPU."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find
from gridstride.kernels.lattice_boltzmann_3d.problem import DIRECTIONS, OPPOSITE, WALL, WEIGHTS, equilibrium

RUNGS = [file.name for file in find("lattice_boltzmann_3d").rungs()]
C = np.array(DIRECTIONS).T


def flow(
    f: np.ndarray, kinds: np.ndarray, steps: int, *, omega: float, force: float = 0.0, name: str | None = None
) -> np.ndarray:
    """The populations so many steps later."""
    depth, height, width = kinds.shape
    with gs.use("virtual"):
        rung = Rung("lattice_boltzmann_3d", {"D": depth, "H": height, "W": width}, name)
        now, after, wall = gs.to_device(f.astype(np.float32)), gs.empty(f.shape), gs.to_device(kinds.astype(np.uint8))
        for _ in range(steps):
            rung(now, wall, after, depth, height, width, omega, 0.0, force)
            now, after = after, now
        return now.numpy().astype(np.float64)


def velocity(f: np.ndarray) -> np.ndarray:
    return np.tensordot(C, f, 1) / f.sum(0)


def test_the_lattice_is_isotropic_to_fourth_order() -> None:
    """What makes its large scales a fluid's: moments of the weights as those of a Maxwell distribution at 1/3."""
    w = np.array(WEIGHTS)
    assert w.sum() == pytest.approx(1)
    np.testing.assert_allclose(np.einsum("i,ai,bi->ab", w, C, C), np.eye(3) / 3, atol=1e-15)
    fourth = np.einsum("i,ai,bi,ci,di->abcd", w, C, C, C, C)
    for a, b, d, e in itertools.product(range(3), repeat=4):
        pairs = (a == b) * (d == e) + (a == d) * (b == e) + (a == e) * (b == d)
        assert fourth[a, b, d, e] == pytest.approx(pairs / 9)
    assert all((C[:, i] == -C[:, OPPOSITE[i]]).all() for i in range(19))


@pytest.mark.parametrize("name", RUNGS)
def test_mass_and_momentum_stay_where_there_are_no_walls(name: str) -> None:
    draw = np.random.default_rng(2)
    f = np.array(WEIGHTS)[:, None, None, None] * draw.uniform(0.8, 1.2, (19, 5, 6, 12))
    after = flow(f, np.zeros((5, 6, 12)), 20, omega=1.3, name=name)
    assert after.sum() == pytest.approx(f.sum(), rel=1e-6)
    np.testing.assert_allclose(
        np.tensordot(C, after, 1).sum((1, 2, 3)), np.tensordot(C, f, 1).sum((1, 2, 3)), atol=1e-4
    )


@pytest.mark.parametrize("axis", [0, 1])
def test_a_wave_of_shear_decays_with_the_viscosity(axis: int) -> None:
    shape, omega, steps = [2, 2, 4], 1.2, 100
    shape[axis] = 40
    place = np.indices(shape)[axis]
    ux = 0.01 * np.sin(2 * math.pi * place / 40)
    end = flow(np.stack(equilibrium(np.ones(shape), ux, 0 * ux, 0 * ux)), np.zeros(shape), steps, omega=omega)
    expected = math.exp(-(1 / omega - 1 / 2) / 3 * (2 * math.pi / 40) ** 2 * steps)
    assert velocity(end)[0].max() / ux.max() == pytest.approx(expected, rel=2e-3)


def test_poiseuille_flow_between_plates_is_met_to_second_order() -> None:
    omega, top = 1.0, 0.05
    viscosity = (1 / omega - 1 / 2) / 3
    errors = []
    for cells in (4, 8, 16):  # between the plates, of which one serves for both sides as the field is periodic
        kinds = np.zeros((cells + 1, 2, 4))
        kinds[0] = WALL
        force = 8 * viscosity * top / cells**2
        rest = np.array(WEIGHTS)[:, None, None, None] * np.ones(kinds.shape)
        f = flow(rest, kinds, 9 * cells**2 + 100, omega=omega, force=force)
        ux = velocity(f)[0][1:, 0, 0] - force / 2  # half-way between before and behind the push
        z = (np.arange(cells) + 0.5) / cells  # walls lie half-way between cells
        errors.append(float(abs(ux - 4 * top * z * (1 - z)).max() / top))
    assert errors[0] < 0.05
    orders = [math.log2(a / b) for a, b in itertools.pairwise(errors)]
    assert orders == pytest.approx([2, 2], abs=0.1)
