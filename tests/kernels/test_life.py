"""Life: what is known of patterns, by the rungs on the virtual GPU."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.gallery.scenes.life import packed, unpacked
from gridstride.judge.find import find

RUNGS = [file.name for file in find("life").rungs()]


def after(cells: np.ndarray, generations: int, name: str | None = None) -> np.ndarray:
    """The field so many generations later; its width is a multiple of 32."""
    words = packed(cells)
    height, width = words.shape
    with gs.use("virtual"):
        rung = Rung("life", {"H": height, "W": width}, name)
        now, following = gs.to_device(words), gs.empty(words.shape, "uint32")
        for _ in range(generations):
            rung(now, following, height, width)
            now, following = following, now
        return unpacked(now.numpy())


def field(height: int, width: int, pattern: str, row: int, column: int) -> np.ndarray:
    """A pattern of rows divided by slashes, o for a live cell, in a field of dead ones."""
    cells = np.zeros((height, width), bool)
    for r, line in enumerate(pattern.split("/")):
        for c, mark in enumerate(line):
            cells[row + r, column + c] = mark == "o"
    return cells


def test_the_r_pentomino_leaves_116_cells_after_1103_generations() -> None:
    start = field(640, 640, ".oo/oo./.o.", 320, 320)
    end = after(start, 1103)
    assert end.sum() == 116
    assert not end[[0, 1, -2, -1]].any()  # no glider has reached the edge
    assert not end[:, [0, 1, -2, -1]].any()
    assert after(end, 2).sum() == 116  # blocks, beehives, blinkers, gliders: all of period 1, 2 or 4


@pytest.mark.parametrize("name", RUNGS)
def test_a_glider_crosses_words_and_comes_to_rest_in_the_corner_as_a_block(name: str) -> None:
    start = field(24, 64, ".o./..o/ooo", 2, 20)
    assert (after(start, 40, name) == field(24, 64, ".o./..o/ooo", 12, 30)).all()
    assert (after(start, 200, name) == field(24, 64, "oo/oo", 22, 40)).all()


def test_cells_are_packed_and_unpacked_by_column() -> None:
    cells = np.zeros((2, 64), bool)
    cells[0, 0] = cells[1, 33] = True
    assert packed(cells).tolist() == [[1, 0], [0, 2]]
    assert (unpacked(packed(cells)) == cells).all()
