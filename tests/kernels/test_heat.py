"""Heat: a sine mode keeps its shape and decays as fast as theory says."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find

STEPS = 4
RUNGS = [file.name for file in find("heat").rungs()]


def mode(height: int, width: int, p: int, q: int) -> np.ndarray:
    across = np.sin(q * math.pi * np.arange(width) / (width - 1))
    return np.outer(np.sin(p * math.pi * np.arange(height) / (height - 1)), across)


def factor(height: int, width: int, p: int, q: int, r: float) -> float:
    """What one step multiplies the mode by."""
    squares = math.sin(p * math.pi / (2 * (height - 1))) ** 2 + math.sin(q * math.pi / (2 * (width - 1))) ** 2
    return 1 - 4 * r * squares


@pytest.mark.parametrize("name", RUNGS)
def test_a_mode_decays_by_its_factor(name: str) -> None:
    height, width, p, q, r, launches = 70, 150, 2, 3, 0.23, 20
    start = mode(height, width, p, q)
    with gs.use("virtual"):
        u, v = gs.to_device(start.astype(np.float32)), gs.empty(start.shape)
        rung = Rung("heat", {"H": height, "W": width}, name)
        for _ in range(launches):
            rung(u, v, height, width, r)
            u, v = v, u
        field = u.numpy()
    expected = start * factor(height, width, p, q, r) ** (STEPS * launches)
    assert 0.1 < abs(expected).max() < 0.9
    np.testing.assert_allclose(field, expected, atol=2e-6)


def test_the_factor_tends_to_the_equations_decay_to_second_order() -> None:
    """The same plate of 1 x 1 for the same time, with twice as many cells each time."""
    errors = []
    for cells in (16, 32, 64):
        steps = round(0.05 * cells**2 / 0.2)  # Δt = r Δx²
        exact = math.exp(-2 * math.pi**2 * 0.2 * steps / cells**2)
        errors.append(abs(factor(cells + 1, cells + 1, 1, 1, 0.2) ** steps / exact - 1))
    orders = [math.log2(a / b) for a, b in itertools.pairwise(errors)]
    assert orders == pytest.approx([2, 2], abs=0.05)


def test_a_step_beyond_a_quarter_makes_the_finest_mode_grow() -> None:
    assert abs(factor(65, 65, 63, 63, 0.2499)) < 1 < abs(factor(65, 65, 63, 63, 0.2502))
