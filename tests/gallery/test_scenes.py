"""The scenes: each draws, goes on as it would have without a pause, and shows what it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from png_decoder import decode

import gridstride as gs
from gridstride.gallery.draw import draw, marks
from gridstride.gallery.scenes.mandelbrot import CENTRE, HEIGHT
from gridstride.gallery.scenes.marbles import Marbles
from gridstride.gallery.table import SCENES

SOURCE = Path(gs.__file__).parent


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_paused_is_the_scene_at_once(name: str) -> None:
    scene = SCENES[name]
    width, height = scene.least[0] + 3, scene.least[1] + 1
    with gs.use("virtual"):
        once, paused = scene.start(width, height), scene.start(width, height)
        once.advance(7)
        for steps in (1, 2, 4):
            paused.advance(steps)
        picture = once.picture()
    assert (picture == paused.picture()).all()
    assert picture.dtype == np.uint8
    assert picture.shape == ((height, width) if scene.palette is not None else (height, width, 3))


@pytest.mark.parametrize("name", SCENES)
def test_a_rows_kernel_is_there(name: str) -> None:
    assert (SOURCE / SCENES[name].kernel).is_file()
    assert SCENES[name].steps > 0
    assert SCENES[name].size >= SCENES[name].least


def test_every_scene_has_its_row_on_the_page() -> None:
    page = (SOURCE.parents[1] / "docs/gallery.md").read_text()
    for name, scene in SCENES.items():
        assert f"| `{name}` | {scene.title} | {scene.step} | `{scene.kernel}` |" in page


def test_frames_stand_from_the_start_to_the_last_step() -> None:
    assert marks(100, 5) == [0, 25, 50, 75, 100]
    assert marks(2, 60) == [0, 1, 2]
    assert marks(7, 3) == [0, 4, 7]


def test_progress_ends_at_the_last_step() -> None:
    done: list[int] = []
    with gs.use("virtual"):
        decoded = decode(draw(SCENES["mandelbrot"], 20, 16, steps=70, frames=4, progress=done.append))
        draw(SCENES["mandelbrot"], 20, 16, steps=70, frames=None, progress=done.append)
    assert len(decoded.frames) == 4
    assert done == [23, 47, 70, 7, 14, 21, 28, 35, 42, 49, 56, 63, 70]


def test_mandelbrot_is_black_where_z_stays() -> None:
    width, height, steps = 33, 24, 50
    with gs.use("virtual"):
        drawing = SCENES["mandelbrot"].start(width, height)
        drawing.advance(steps)
    pixel = max(HEIGHT / height, 1.5 * HEIGHT / width)
    across, down = np.arange(width) - (width - 1) / 2, (height - 1) / 2 - np.arange(height)
    c = CENTRE[0] + across * pixel + 1j * (CENTRE[1] + down * pixel)[:, None]
    z, left = np.zeros_like(c), np.zeros(c.shape, bool)
    for _ in range(steps):
        z = np.where(left, z, z * z + c)
        left |= abs(z) > 256
    assert ((drawing.picture() == 0) == ~left).all()
    assert 20 < left.sum() < left.size - 20


def test_in_a_white_furnace_every_pixel_is_1() -> None:
    """Light comes from everywhere and nothing swallows any: all shapes vanish, but for paths that never leave."""
    with gs.use("virtual"):
        drawing = Marbles(48, 32, white=True)
        drawing.advance(4)
        light = drawing.light()
    assert light.max() <= 1
    assert (light == 1).mean() > 0.99


def test_the_error_of_paths_falls_with_the_root_of_their_number() -> None:
    with gs.use("virtual"):
        drawing = Marbles(24, 16)
        means = {}
        for paths, until in ((16, 16), (64, 80), (640, 720)):
            before = drawing.light().astype(float) * (until - paths)
            drawing.advance(paths)
            means[paths] = (drawing.light().astype(float) * until - before) / paths
    error = {paths: np.sqrt(((means[paths] - means[640]) ** 2).mean()) for paths in (16, 64)}
    assert 1.5 < error[16] / error[64] < 2.7
