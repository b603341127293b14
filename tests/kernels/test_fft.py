"""Fourier transform: Parseval, the inverse by a second transform, and what a shift does."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find

LENGTH = 1024
RUNGS = [file.name for file in find("fft").rungs()]


def transformed(name: str, x: np.ndarray) -> np.ndarray:
    """Rows of complex numbers, by the rung on the virtual GPU."""
    with gs.use("virtual"):
        result = gs.empty((len(x), LENGTH, 2))
        Rung("fft", {"rows": len(x)}, name)(gs.to_device(x.astype(np.complex64).view(np.float32)), result, len(x))
        return result.numpy().view(np.complex64)[..., 0].astype(complex)


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    real, imaginary = np.random.default_rng(6).standard_normal((2, 5, LENGTH)).astype(np.float32)
    return real + 1j * imaginary


@pytest.mark.parametrize("name", RUNGS)
def test_the_energy_stays_but_for_the_length(name: str, rows: np.ndarray) -> None:
    energy = (abs(rows) ** 2).sum(1)
    np.testing.assert_allclose((abs(transformed(name, rows)) ** 2).sum(1), LENGTH * energy, rtol=1e-6)


@pytest.mark.parametrize("name", RUNGS)
def test_twice_is_the_row_backwards_and_so_the_inverse(name: str, rows: np.ndarray) -> None:
    twice = transformed(name, transformed(name, rows)) / LENGTH
    backwards = np.roll(twice[:, ::-1], 1, axis=1)
    assert np.linalg.norm(backwards - rows) < 1e-6 * np.linalg.norm(rows)


@pytest.mark.parametrize("name", RUNGS)
def test_a_shift_turns_each_frequency_by_its_own_angle(name: str, rows: np.ndarray) -> None:
    angles = np.exp(-2j * np.pi * 37 * np.arange(LENGTH) / LENGTH)
    shifted, plain = transformed(name, np.roll(rows, 37, axis=1)), transformed(name, rows)
    assert np.linalg.norm(shifted - plain * angles) < 1e-6 * np.linalg.norm(plain)
