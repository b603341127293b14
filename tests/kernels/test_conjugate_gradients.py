"""Conjugate gradients: the error falls in the norm of A as fast as theory says, and four modes are four steps."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find
from gridstride.kernels.conjugate_gradients.problem import applied

RUNGS = [file.name for file in find("conjugate_gradients").rungs()]
R = 0.8


def mode(height: int, width: int, p: int, q: int) -> np.ndarray:
    """An eigenvector of A: 0 one cell beyond the field."""
    across = np.sin(q * math.pi * np.arange(1, width + 1) / (width + 1))
    return np.outer(np.sin(p * math.pi * np.arange(1, height + 1) / (height + 1)), across)


def eigenvalue(height: int, width: int, p: int, q: int) -> float:
    squares = math.sin(p * math.pi / (2 * (height + 1))) ** 2 + math.sin(q * math.pi / (2 * (width + 1))) ** 2
    return 1 + 4 * R * squares


def guesses(name: str, b: np.ndarray, launches: int) -> list[np.ndarray]:
    """From a guess of 0 on, what each launch makes of the guess before."""
    height, width = b.shape
    with gs.use("virtual"):
        rung = Rung("conjugate_gradients", {"H": height, "W": width}, name)
        right, work = gs.to_device(b.astype(np.float32)), gs.empty((7, height, width))
        fields = [gs.zeros(b.shape)]
        for _ in range(launches):
            after = gs.empty(b.shape)
            rung(right, fields[-1], after, work, height, width, R)
            fields.append(after)
        return [field.numpy().astype(np.float64) for field in fields]


def test_the_sine_modes_are_eigenvectors() -> None:
    for p, q in ((1, 1), (3, 7), (9, 2)):
        v = mode(9, 14, p, q)
        np.testing.assert_allclose(applied(v, R), eigenvalue(9, 14, p, q) * v, atol=1e-12)


@pytest.mark.parametrize("name", RUNGS)
def test_the_error_falls_in_the_norm_of_a_with_every_launch(name: str) -> None:
    answer = np.random.default_rng(4).standard_normal((45, 67))
    errors = [answer - x for x in guesses(name, applied(answer, R), 3)]
    norms = [math.sqrt((e * applied(e, R)).sum()) for e in errors]
    root = math.sqrt(1 + 8 * R)
    bound = 2 * ((root - 1) / (root + 1)) ** 4
    assert all(after < bound * before for before, after in itertools.pairwise(norms)), norms


@pytest.mark.parametrize("name", RUNGS)
def test_four_modes_take_four_steps(name: str) -> None:
    height, width = 45, 67
    modes = [mode(height, width, p, q) for p, q in ((1, 2), (11, 20), (25, 40), (44, 60))]
    values = [eigenvalue(height, width, p, q) for p, q in ((1, 2), (11, 20), (25, 40), (44, 60))]
    x = guesses(name, sum(modes), 1)[-1]
    expected = sum(v / value for v, value in zip(modes, values, strict=True))
    np.testing.assert_allclose(x, expected, atol=5e-6)
