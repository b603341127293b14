"""PNG files, still and animated, read again by a decoder of the tests and by Pillow where it is installed."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from png_decoder import decode

from gridstride.gallery.palettes import EMBERS, indices, palette
from gridstride.gallery.png import apng, png

DRAW = np.random.default_rng(1)


def indexed(height: int, width: int) -> np.ndarray:
    return DRAW.integers(0, 256, (height, width)).astype(np.uint8)


def smooth(height: int, width: int) -> np.ndarray:
    """A picture for which each of the filters is the best somewhere."""
    y, x = np.mgrid[:height, :width]
    colours = np.stack((3 * x, 5 * y, 2 * x + 3 * y + (x * y) % 7), -1)
    colours[: height // 3] = DRAW.integers(0, 9, (height // 3, width, 3))
    return colours.astype(np.uint8)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (16, 7), (1, 40), (40, 1)])
def test_a_picture_of_indices_is_read_as_it_was_written(shape: tuple[int, int]) -> None:
    pixels = indexed(*shape)
    decoded = decode(png(pixels, EMBERS))
    assert (decoded.still == EMBERS[pixels]).all()
    assert decoded.kinds == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (24, 31)])
def test_a_picture_of_colours_is_read_as_it_was_written(shape: tuple[int, int]) -> None:
    pixels = smooth(*shape)
    decoded = decode(png(pixels, None))
    assert (decoded.still == pixels).all()
    assert decoded.kinds == [b"IHDR", b"IDAT", b"IEND"]


def test_filters_make_a_smooth_picture_small() -> None:
    y, x = np.mgrid[:100, :100]
    assert len(png(np.stack((x + y, x, y), -1).astype(np.uint8), None)) < 1000


@pytest.mark.parametrize("colours", [False, True])
def test_an_animation_is_read_frame_by_frame(colours: bool) -> None:
    first = smooth(9, 12) if colours else indexed(9, 12)
    second = first.copy()
    second[2:5, 7] ^= 255
    frames = [first, second, second.copy(), smooth(9, 12) if colours else indexed(9, 12)]
    decoded = decode(apng(iter(frames), None if colours else EMBERS, milliseconds=40))
    expected = frames if colours else [EMBERS[frame] for frame in frames]
    assert all((got == want).all() for got, want in zip(decoded.frames, expected, strict=True))
    assert decoded.milliseconds == [40, 40, 40, 160]


def test_who_knows_no_animation_sees_its_last_frame() -> None:
    frames = [indexed(4, 6) for _ in range(3)]
    assert (decode(apng(frames, EMBERS, milliseconds=40)).still == EMBERS[frames[-1]]).all()


def test_a_frame_holds_what_changed() -> None:
    first = indexed(64, 64)
    second = first.copy()
    second[10, 20] ^= 1
    both, one = len(apng([first, second], EMBERS, milliseconds=40)), len(apng([first], EMBERS, milliseconds=40))
    assert both - one < 100


def test_pillow_reads_both(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    frames = [smooth(20, 30), smooth(20, 30)[::-1].copy()]
    assert (np.asarray(image.open(io.BytesIO(png(frames[0], None)))) == frames[0]).all()
    moving = image.open(io.BytesIO(apng(frames, None, milliseconds=40)))
    shown = []
    for number in range(moving.n_frames):
        moving.seek(number)
        shown.append(np.asarray(moving.convert("RGB")))
    assert any((one == frames[0]).all() for one in shown)
    assert (shown[-1] == frames[1]).all()


def test_a_palette_lies_between_its_colours() -> None:
    two = palette("#000000", "#ff8000")
    assert two.shape == (256, 3)
    assert two[0].tolist() == [0, 0, 0]
    assert two[255].tolist() == [255, 128, 0]
    assert two[51].tolist() == [51, 26, 0]


def test_values_become_indices_and_those_beyond_are_cut_off() -> None:
    assert indices(np.array([-9.0, -1.0, 0.0, 1.0, 9.0]), -1, 1).tolist() == [0, 0, 128, 255, 255]
