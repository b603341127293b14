"""Stable fluids: divergence is what the pressure has not reached, energy never grows, and vortices stay."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find

RUNGS = [file.name for file in find("stable_fluids").rungs()]
Field = np.ndarray


def steps(
    name: str, velocity: Field, launches: int, dt: float, start: Field | None = None
) -> list[tuple[Field, Field]]:
    """(velocity, pressure) after each launch, from a pressure that is kept on, or from 0 each time."""
    _, height, width = velocity.shape
    with gs.use("virtual"):
        rung = Rung("stable_fluids", {"H": height, "W": width}, name)
        now, pressure = gs.to_device(velocity.astype(np.float32)), gs.zeros((height, width))
        if start is not None:
            pressure.copy_from(start.astype(np.float32))
        work, seen = gs.empty((5, height, width)), []
        for _ in range(launches):
            after, after_pressure = gs.empty(velocity.shape), gs.empty((height, width))
            rung(now, pressure, after, after_pressure, work, height, width, dt)
            now, pressure = after, pressure if start is None else after_pressure
            seen.append((after.numpy().astype(np.float64), after_pressure.numpy().astype(np.float64)))
        return seen


def divergence(velocity: Field) -> Field:
    u, v = velocity
    return np.roll(u, -1, 1) - u + np.roll(v, -1, 0) - v


def noise(height: int, width: int) -> Field:
    return np.random.default_rng(6).standard_normal((2, height, width))


@pytest.mark.parametrize("name", RUNGS)
def test_without_time_the_divergence_left_is_what_the_pressure_has_not_reached(name: str) -> None:
    velocity = noise(45, 60)
    (after, p), *_, (last, _) = steps(name, velocity, 12, 0.0)
    curved = sum(np.roll(p, shift, axis) for shift in (1, -1) for axis in (0, 1)) - 4 * p
    np.testing.assert_allclose(divergence(after), divergence(velocity) - curved, atol=1e-5)
    before, once, often = (np.linalg.norm(divergence(one)) for one in (velocity, after, last))
    assert once < before / 4
    assert often < before / 30


@pytest.mark.parametrize("name", RUNGS)
def test_a_mode_of_divergence_falls_by_the_factor_of_its_wave(name: str) -> None:
    """A velocity that is the slope of a wave: a step leaves 1 - λ / 5, -λ being what five points make."""
    height, width, across, down = 40, 70, 9, 6
    angle = 2 * np.pi * (across * np.arange(width) / width + down * np.arange(height)[:, None] / height)
    wave = np.cos(angle)
    velocity = np.stack([wave - np.roll(wave, 1, 1), wave - np.roll(wave, 1, 0)])
    weight = 4 * (np.sin(np.pi * across / width) ** 2 + np.sin(np.pi * down / height) ** 2)
    after, _ = steps(name, velocity, 1, 0.0)[0]
    np.testing.assert_allclose(after, velocity * (1 - weight / 5) ** 4, atol=1e-5)


@pytest.mark.parametrize("name", RUNGS)
def test_energy_never_grows_however_long_a_step_is(name: str) -> None:
    for dt in (0.3, 20.0):
        energies = [
            (one**2).sum() for one in (noise(33, 50), *(after for after, _ in steps(name, noise(33, 50), 6, dt)))
        ]
        assert all(late < early for early, late in itertools.pairwise(energies)), (dt, energies)
        assert energies[-1] > 0


@pytest.mark.parametrize("name", RUNGS)
def test_a_field_that_is_the_same_all_over_stays(name: str) -> None:
    velocity = np.full((2, 21, 50), 1.7)
    velocity[1] = -0.6
    after, p = steps(name, velocity, 3, 1.3, np.zeros((21, 50)))[-1]
    np.testing.assert_allclose(after, velocity, atol=1e-6)
    np.testing.assert_allclose(p, 0, atol=1e-6)


def vortices(side: int) -> tuple[Field, Field]:
    """Taylor and Green's, which are at rest: u = sin x cos y, v = -cos x sin y, a cell being 2 π / side; and what dt
    times their pressure is for a dt of 1, (cos 2 x + cos 2 y) / 4.
    """
    face, centre = 2 * np.pi * np.arange(side) / side, 2 * np.pi * (np.arange(side) + 0.5) / side
    u = np.sin(face) * np.cos(centre)[:, None]
    pressure = (np.cos(2 * centre) + np.cos(2 * centre)[:, None]) / 4
    return np.stack([u, -np.cos(centre) * np.sin(face)[:, None]]), pressure


def test_vortices_keep_their_shape_and_lose_half_as_much_on_a_grid_twice_as_fine() -> None:
    lost, dt = [], 0.5
    for side in (32, 64):
        start, pressure = vortices(side)
        after, _ = steps(RUNGS[-1], start, side // 4, dt, dt * pressure)[-1]  # all for the same time
        along = (after * start).sum() / (start**2).sum()
        assert np.linalg.norm(after - along * start) < 0.05 * np.linalg.norm(start)
        lost.append(1 - along)
    assert 0 < lost[1] < lost[0] < 0.3
    assert lost[0] / lost[1] == pytest.approx(2, abs=0.3), lost
