"""Lattice Boltzmann: flows that are known, by the rungs on the virtual GPU."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find
from gridstride.kernels.lattice_boltzmann.problem import CX, CY, MOVING, OPPOSITE, WALL, WEIGHTS, equilibrium

RUNGS = [file.name for file in find("lattice_boltzmann").rungs()]


def flow(
    f: np.ndarray, kinds: np.ndarray, steps: int, *, omega: float, speed: float = 0.0, force: float = 0.0,
    name: str | None = None,
) -> np.ndarray:  # fmt: skip
    """The populations so many steps later."""
    height, width = kinds.shape
    with gs.use("virtual"):
        rung = Rung("lattice_boltzmann", {"H": height, "W": width}, name)
        now, after, wall = gs.to_device(f.astype(np.float32)), gs.empty(f.shape), gs.to_device(kinds.astype(np.uint8))
        for _ in range(steps):
            rung(now, wall, after, height, width, omega, speed, force)
            now, after = after, now
        return now.numpy().astype(np.float64)


def at_rest(height: int, width: int) -> np.ndarray:
    return np.stack(equilibrium(np.ones((height, width)), np.zeros((height, width)), np.zeros((height, width))))


def velocity(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.tensordot(CX, f, 1) / f.sum(0), np.tensordot(CY, f, 1) / f.sum(0)


def test_the_lattice_is_isotropic_to_fourth_order() -> None:
    """What makes its large scales a fluid's: moments of the weights as those of a Maxwell distribution at 1/3."""
    c, w = np.array([CX, CY]), np.array(WEIGHTS)
    assert w.sum() == pytest.approx(1)
    np.testing.assert_allclose(np.einsum("i,ai,bi->ab", w, c, c), np.eye(2) / 3, atol=1e-15)
    fourth = np.einsum("i,ai,bi,ci,di->abcd", w, c, c, c, c)
    for a, b, d, e in itertools.product(range(2), repeat=4):
        pairs = (a == b) * (d == e) + (a == d) * (b == e) + (a == e) * (b == d)
        assert fourth[a, b, d, e] == pytest.approx(pairs / 9)
    assert all((c[:, i] == -c[:, OPPOSITE[i]]).all() for i in range(9))


@pytest.mark.parametrize("name", RUNGS)
def test_mass_and_momentum_stay_where_there_are_no_walls(name: str) -> None:
    draw = np.random.default_rng(2)
    f = np.array(WEIGHTS)[:, None, None] * draw.uniform(0.8, 1.2, (9, 24, 36))
    after = flow(f, np.zeros((24, 36)), 20, omega=1.3, name=name)
    assert after.sum() == pytest.approx(f.sum(), rel=1e-6)
    for axis in (CX, CY):
        assert np.tensordot(axis, after, 1).sum() == pytest.approx(np.tensordot(axis, f, 1).sum(), abs=1e-4)


def test_a_wave_of_shear_decays_with_the_viscosity() -> None:
    height, omega, steps = 48, 1.2, 150
    row = np.arange(height)[:, None] * np.ones((1, 4))
    ux = 0.01 * np.sin(2 * math.pi * row / height)
    end = flow(np.stack(equilibrium(np.ones_like(ux), ux, 0 * ux)), 0 * ux, steps, omega=omega)
    viscosity = (1 / omega - 1 / 2) / 3
    expected = math.exp(-viscosity * (2 * math.pi / height) ** 2 * steps)
    assert velocity(end)[0].max() / ux.max() == pytest.approx(expected, rel=2e-3)


def test_poiseuille_flow_between_plates_is_met_to_second_order() -> None:
    omega, top = 1.0, 0.05
    viscosity = (1 / omega - 1 / 2) / 3
    errors = []
    for cells in (4, 8, 16):  # between the plates, of which one serves for both sides as the field is periodic
        kinds = np.zeros((cells + 1, 4))
        kinds[0] = WALL
        force = 8 * viscosity * top / cells**2
        f = flow(at_rest(cells + 1, 4), kinds, 9 * cells**2 + 100, omega=omega, force=force)
        ux = velocity(f)[0][1:, 0] - force / 2  # half-way between before and behind the push
        y = (np.arange(cells) + 0.5) / cells  # walls lie half-way between cells
        errors.append(float(abs(ux - 4 * top * y * (1 - y)).max() / top))
    assert errors[0] < 0.05
    orders = [math.log2(a / b) for a, b in itertools.pairwise(errors)]
    assert orders == pytest.approx([2, 2], abs=0.1)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_cavity_at_reynolds_100_turns_as_is_known() -> None:
    """u of the vertical line through the middle: U. Ghia, K. N. Ghia and C. T. Shin, J. Comput. Phys. 48 (1982), whose
    grid of 129 leaves some 2 %, and C. H. Marchi, R. Suero and L. K. Araki, J. Braz. Soc. Mech. Sci. Eng. 31 (2009),
    extrapolated from grids of up to 1024.
    """
    cells, speed, reynolds = 65, 0.1, 100
    kinds = np.zeros((cells + 2, cells + 2))
    kinds[[0, -1]] = kinds[:, [0, -1]] = WALL
    kinds[0, 1:-1] = MOVING
    omega = 1 / (3 * speed * cells / reynolds + 0.5)
    ux, _ = velocity(flow(at_rest(cells + 2, cells + 2), kinds, 16_000, omega=omega, speed=speed))
    line = ux[1:-1, 1 + cells // 2] / speed
    heights = 1 - (np.arange(cells) + 0.5) / cells  # above the floor
    ghia = {0.1719: -0.10150, 0.4531: -0.21090, 0.5: -0.20581, 0.6172: -0.13641, 0.8516: 0.23151}
    marchi = {0.25: -0.14193, 0.5: -0.20915, 0.75: 0.02787, 0.9375: 0.59747}
    for known, within in ((ghia, 6e-3), (marchi, 3e-3)):
        got = np.interp(list(known), heights[::-1], line[::-1])
        np.testing.assert_allclose(got, list(known.values()), atol=within)
