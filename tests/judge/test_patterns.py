"""Wrong results in words a beginner understands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gridstride.judge.patterns import Evidence, Pattern, describe

RIGHT = np.random.default_rng(0).standard_normal((40, 24)).astype(np.float32)


def seen(got: np.ndarray, expected: np.ndarray = RIGHT, unwritten: np.ndarray | None = None) -> Pattern:
    wrong = ~np.isclose(got, expected, rtol=1e-6, atol=0, equal_nan=True)
    none = np.zeros(got.shape, bool) if unwritten is None else unwritten
    return describe(Evidence(got, expected.astype(np.float64), wrong, none))


def changed(change: Callable[[np.ndarray], None]) -> Pattern:
    got = RIGHT.copy()
    change(got)
    return seen(got)


def put(where: object) -> Callable[[np.ndarray], None]:
    def change(got: np.ndarray) -> None:
        got[where] += 1 + np.abs(got[where])

    return change


def test_a_tail_that_was_never_written_points_at_the_grid() -> None:
    flat = RIGHT.reshape(-1)
    unwritten = np.arange(flat.size) >= 900
    pattern = seen(np.where(unwritten, np.nan, flat).astype(np.float32), flat, unwritten)
    assert pattern.name == "never_written"
    assert "elements 900 to 959 (the last 60 of 960) were never written" in str(pattern)
    assert "rounded up" in pattern.mistake


def test_nothing_written_at_all() -> None:
    pattern = seen(np.full_like(RIGHT, np.nan), RIGHT, np.ones(RIGHT.shape, bool))
    assert "all 960 elements were never written" in pattern.text


def test_transposed_also_where_the_matrix_is_not_square() -> None:
    pattern = seen(np.ascontiguousarray(RIGHT.T).reshape(RIGHT.shape))
    assert pattern.name == "transposed"
    assert "row * 24 + column" in pattern.mistake


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("tail", put((slice(39, 40), slice(10, None))), "(39, 10) to (39, 23) (the last 14 of 960)"),
        ("columns_above", put((slice(None), slice(16, None))), "columns 16 to 23 of 24"),
        ("columns_every", put((slice(None), slice(3, None, 5))), "every 5th of the columns is wrong, from 3 on"),
        ("rows_every", put((slice(0, None, 8), slice(None))), "every 8th of the rows"),
        ("factor", lambda got: np.multiply(got, 3, out=got), "3 times what it should be"),
        ("offset", lambda got: np.add(got, 2, out=got), "off by 2"),
        ("constant", lambda got: got.fill(0), "every element is 0"),
        ("not_a_number", put((5, 6)), "element (5, 6) was NaN or Inf"),
        ("scattered", put(([3, 17, 30], [20, 2, 11])), "3 of 960 elements are wrong, first: element (3, 20)"),
    ],
)
def test_patterns(name: str, change: Callable[[np.ndarray], None], words: str) -> None:
    def with_nan(got: np.ndarray) -> None:
        got[5, 6] = np.nan

    pattern = changed(with_nan if name == "not_a_number" else change)
    assert pattern.name == name, pattern
    assert words in pattern.text


def test_rows_above_a_number_are_a_tail() -> None:
    assert changed(put(slice(32, None))).name == "tail"


def test_the_border() -> None:
    got = RIGHT * 2
    got[2:-2, 2:-2] = RIGHT[2:-2, 2:-2]
    assert seen(got).name == "border"
    assert "within 2 of the border" in seen(got).text


def test_the_edges_of_every_tile() -> None:
    right = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    got = right.copy()
    edge = np.isin(np.arange(64) % 16, [0, 15])
    edge[[0, 63]] = False  # at the border of the image nothing is missing
    got[edge, :] *= 1.5
    got[:, edge] *= 1.5
    assert seen(got, right).name == "tile_edges"


@pytest.mark.parametrize(("shift", "words"), [(1, "previous"), (-1, "next")])
def test_shifted_by_one(shift: int, words: str) -> None:
    flat = RIGHT.reshape(-1)
    pattern = seen(np.roll(flat, shift), flat)
    assert pattern.name == "shifted"
    assert words in pattern.text


def test_permuted() -> None:
    flat = RIGHT.reshape(-1)
    assert seen(np.random.default_rng(2).permutation(flat), flat).name == "permuted"


def test_half_precision() -> None:
    assert seen(RIGHT.astype(np.float16).astype(np.float32)).name == "precision"


def test_a_single_number_is_a_multiple_only_when_the_factor_is_whole() -> None:
    assert seen(np.array([96.0], np.float32), np.array([3.0])).name == "factor"
    assert seen(np.array([96.0], np.float32), np.array([7.3])).name == "everywhere"


def test_whole_number_outputs() -> None:
    right = np.random.default_rng(3).integers(0, 255, (40, 24)).astype(np.uint8)
    got = right.copy()
    got[:, 20:] ^= 5
    wrong = got != right
    pattern = describe(Evidence(got, right, wrong, np.zeros_like(wrong)))
    assert pattern.name == "columns_above"
