"""Canny: thin lines, thresholds that take and give as they should, and lines that are followed to their end."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find

RUNGS = [file.name for file in find("canny").rungs()]


def edges(name: str, image: np.ndarray, low: int, high: int) -> np.ndarray:
    """Whether each pixel is an edge, by the rung on the virtual GPU."""
    height, width = image.shape
    with gs.use("virtual"):
        found, work = gs.empty(image.shape, "uint8"), gs.empty((3, height, width), "uint16")
        rung = Rung("canny", {"H": height, "W": width}, name)
        rung(gs.to_device(image.astype(np.uint8)), found, work, height, width, low, high)
        return found.numpy() == 1


@pytest.mark.parametrize("name", RUNGS)
def test_a_straight_step_is_one_line_of_one_pixel(name: str) -> None:
    step = np.repeat([[40] * 30 + [200] * 40], 50, axis=0)
    for picture in (step, step.T):
        line = edges(name, np.ascontiguousarray(picture), 100, 300)
        along = line if picture is step else line.T
        assert (along.sum(1) == 1).all()
        assert (np.argmax(along, axis=1) == 29).all()


@pytest.mark.parametrize("name", RUNGS)
def test_a_faint_line_is_followed_from_its_bright_end_and_not_found_without(name: str) -> None:
    faint = np.full((40, 150), 50)
    faint[20:, 10:140] = 90  # a step of 40: strength 160
    bright = faint.copy()
    bright[20:, 10:14] = 250
    assert not edges(name, faint, 100, 500).any()
    assert edges(name, bright, 100, 500)[18:21, 20:135].any(0).all()
    assert not edges(name, bright, 200, 500)[:, 20:135].any()


@pytest.mark.parametrize("name", RUNGS)
def test_a_lower_low_loses_no_edge_and_a_higher_high_gains_none(name: str) -> None:
    image = np.random.default_rng(5).integers(0, 256, (45, 70))
    plain = edges(name, image, 300, 600)
    assert 0 < plain.sum() < plain.size / 2
    assert (plain <= edges(name, image, 200, 600)).all()
    assert (edges(name, image, 300, 800) <= plain).all()
