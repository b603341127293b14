"""Bilateral filter: a Gauss blur where nothing is unlike, and edges that stay where noise goes."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find

RUNGS = [file.name for file in find("bilateral").rungs()]


def filtered(name: str, image: np.ndarray, near: float, alike: float) -> np.ndarray:
    height, width = image.shape
    with gs.use("virtual"):
        smooth = gs.empty(image.shape)
        rung = Rung("bilateral", {"H": height, "W": width}, name)
        rung(gs.to_device(image.astype(np.float32)), smooth, height, width, near, alike)
        return smooth.numpy().astype(np.float64)


@pytest.mark.parametrize("name", RUNGS)
def test_where_all_is_alike_it_is_a_blur_by_a_gauss_curve(name: str) -> None:
    image = np.random.default_rng(1).standard_normal((37, 70))
    curve = np.exp(-0.3 * np.arange(-2, 3) ** 2)
    curve /= curve.sum()
    padded = np.pad(image, 2, mode="edge")
    rows = sum(share * padded[k : k + 37] for k, share in enumerate(curve))
    blurred = sum(share * rows[:, k : k + 70] for k, share in enumerate(curve))
    np.testing.assert_allclose(filtered(name, image, 0.3, 0.0), blurred, atol=1e-6)


@pytest.mark.parametrize("name", RUNGS)
def test_noise_goes_and_a_step_stays_as_steep(name: str) -> None:
    step = np.repeat([[0.0] * 33 + [10.0] * 31], 40, axis=0)
    noise = 0.2 * np.random.default_rng(2).standard_normal(step.shape)
    left = filtered(name, step + noise, 0.05, 1.0) - step
    assert left.std() < noise.std() / 2.5
    assert abs(left[:, 31:35]).max() < 0.5  # a blur leaves 4 beside the step


@pytest.mark.parametrize("name", RUNGS)
def test_a_flat_picture_stays_and_no_value_is_beyond_those_around(name: str) -> None:
    np.testing.assert_allclose(filtered(name, np.full((9, 35), 3.7), 0.2, 0.4), 3.7, rtol=1e-6)
    image = np.random.default_rng(3).standard_normal((20, 40))
    padded = np.pad(image, 2, mode="edge")
    around = np.stack([padded[y : y + 20, x : x + 40] for y in range(5) for x in range(5)])
    smooth = filtered(name, image, 0.2, 0.4)
    assert (smooth <= around.max(0) + 1e-6).all()
    assert (smooth >= around.min(0) - 1e-6).all()
