"""Median: roots stay as they are, single pixels go, and light and dark are treated alike."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find

RUNGS = [file.name for file in find("median").rungs()]


def filtered(name: str, image: np.ndarray, times: int = 1) -> np.ndarray:
    height, width = image.shape
    with gs.use("virtual"):
        rung = Rung("median", {"H": height, "W": width}, name)
        now, after = gs.to_device(image.astype(np.uint8)), gs.empty(image.shape, "uint8")
        for _ in range(times):
            rung(now, after, height, width)
            now, after = after, now
        return now.numpy()


def noise(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(8).integers(0, 256, (height, width), np.uint8)


@pytest.mark.parametrize("name", RUNGS)
def test_filtering_leads_to_a_root_which_stays(name: str) -> None:
    root = filtered(name, np.where(noise(40, 72) < 128, 30, 200), 60)
    assert len(np.unique(root)) == 2
    assert (filtered(name, root) == root).all()


@pytest.mark.parametrize("name", RUNGS)
def test_a_straight_edge_is_a_root_and_a_single_pixel_is_not(name: str) -> None:
    edge = np.repeat([[20] * 31 + [230] * 33], 24, axis=0)
    specked = edge.copy()
    specked[5::4, 3::5] = 255 - specked[5::4, 3::5]
    assert (filtered(name, edge) == edge).all()
    assert (filtered(name, specked)[:, :28] == edge[:, :28]).all()


@pytest.mark.parametrize("name", RUNGS)
def test_it_swaps_light_and_dark_and_turns_with_the_picture(name: str) -> None:
    image = noise(33, 68)
    once = filtered(name, image)
    assert (filtered(name, 255 - image) == 255 - once).all()
    for axis in (0, 1):
        assert (filtered(name, np.flip(image, axis)) == np.flip(once, axis)).all()
    assert (filtered(name, np.ascontiguousarray(image.T)) == once.T).all()
