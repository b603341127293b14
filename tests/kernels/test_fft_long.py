"""Fourier transform of a million numbers: Parseval, the inverse by a second transform, and what a shift does."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find

LENGTH = 1 << 20
RUNGS = [file.name for file in find("fft_long").rungs()]
ROWS = 4  # one more than the shortest ring holds


def transformed(name: str, x: np.ndarray) -> np.ndarray:
    """Rows of complex numbers, by the rung on the virtual GPU."""
    with gs.use("virtual"):
        result, scratch = gs.empty((len(x), LENGTH, 2)), gs.empty((len(x), LENGTH, 2))
        counters = gs.full((2 * len(x) + 1,), 0xFFFF, np.uint32)  # whatever was there
        numbers = gs.to_device(x.astype(np.complex64).view(np.float32).reshape(-1, LENGTH, 2))
        Rung("fft_long", {"rows": len(x)}, name)(numbers, result, scratch, counters, len(x))
        return result.numpy().view(np.complex64)[..., 0].astype(complex)


@functools.cache
def rows() -> np.ndarray:
    real, imaginary = np.random.default_rng(6).standard_normal((2, ROWS, LENGTH)).astype(np.float32)
    numbers: np.ndarray = real + 1j * imaginary
    return numbers


@functools.cache
def transforms(name: str) -> np.ndarray:
    return transformed(name, rows())


@pytest.mark.parametrize("name", RUNGS)
def test_the_energy_stays_but_for_the_length(name: str) -> None:
    energy = (abs(rows()) ** 2).sum(1)
    np.testing.assert_allclose((abs(transforms(name)) ** 2).sum(1), LENGTH * energy, rtol=1e-6)


@pytest.mark.parametrize("name", RUNGS)
def test_twice_is_the_row_backwards_and_so_the_inverse(name: str) -> None:
    twice = transformed(name, transforms(name)[:1]) / LENGTH
    backwards = np.roll(twice[:, ::-1], 1, axis=1)
    assert np.linalg.norm(backwards - rows()[:1]) < 1e-6 * np.linalg.norm(rows()[:1])


@pytest.mark.parametrize("name", RUNGS)
def test_a_shift_turns_each_frequency_by_its_own_angle(name: str) -> None:
    angles = np.exp(-2j * np.pi / LENGTH * (37 * np.arange(LENGTH) % LENGTH))
    shifted, plain = transformed(name, np.roll(rows()[:1], 37, axis=1)), transforms(name)[:1]
    assert np.linalg.norm(shifted - plain * angles) < 1e-6 * np.linalg.norm(plain)
