"""A sparse matrix times a vector: the Laplacian's eigenvectors, the transpose, permutations, the matrix written out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.judge.find import find

RUNGS = [file.name for file in find("spmv").rungs()]


@dataclass(frozen=True)
class Matrix:
    """In compressed rows, with the number of columns."""

    offsets: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    columns: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.offsets) - 1, self.columns

    @property
    def rows_of_entries(self) -> np.ndarray:
        return np.repeat(np.arange(self.shape[0]), np.diff(self.offsets))


def compressed(rows: np.ndarray, columns: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> Matrix:
    """Of entries in any order."""
    order = np.argsort(rows, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=shape[0]))))
    return Matrix(offsets, columns[order], values[order], shape[1])


def laplacian(height: int, width: int) -> Matrix:
    """4 less the four neighbours, of a field beyond whose edges there is 0."""
    cell = np.arange(height * width).reshape(height, width)
    pairs = [(cell, cell, 4.0)]
    for here, there in ((cell[1:], cell[:-1]), (cell[:, 1:], cell[:, :-1])):
        pairs += [(here, there, -1.0), (there, here, -1.0)]
    rows, columns = (np.concatenate([pair[k].ravel() for pair in pairs]) for k in (0, 1))
    values = np.concatenate([np.full(pair[0].size, pair[2]) for pair in pairs])
    return compressed(rows, columns, values, (cell.size, cell.size))


def random(lengths: np.ndarray, columns: int, seed: int = 3) -> Matrix:
    """Of rows of these lengths; columns may repeat."""
    draw = np.random.default_rng(seed)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    values = draw.standard_normal(len(rows)).astype(np.float32).astype(np.float64)
    return compressed(rows, draw.integers(columns, size=len(rows)), values, (len(lengths), columns))


def multiplied(name: str, a: Matrix, x: np.ndarray) -> np.ndarray:
    """By a rung in float32."""
    sizes = {"rows": a.shape[0], "columns": a.columns, "entries": len(a.values)}
    with gs.use("virtual"):
        y = gs.empty((a.shape[0],))
        arrays = [array.astype(dtype) for array, dtype in
                  ((a.offsets, np.int32), (a.indices, np.int32), (a.values, np.float32), (x, np.float32))]  # fmt: skip
        Rung("spmv", sizes, name)(*map(gs.to_device, arrays), y, sizes["rows"], sizes["entries"])
        return y.numpy().astype(np.float64)


LENGTHS = {
    "even": np.full(300, 5),
    "a power of the rank": np.random.default_rng(1).permutation((9000 / np.arange(1, 401) ** 1.3).astype(int)),
    "one row": np.where(np.arange(50) == 17, 20_000, 0),
    "mostly empty": np.where(np.arange(5000) % 97 == 5, 40, 0),
    "long": np.full(6, 3000),
}


@pytest.mark.parametrize("name", RUNGS)
@pytest.mark.parametrize("kind", LENGTHS)
def test_it_is_the_product_with_the_matrix_written_out(name: str, kind: str) -> None:
    a = random(LENGTHS[kind], 200)
    x = np.random.default_rng(8).standard_normal(200).astype(np.float32).astype(np.float64)
    dense, sizes = np.zeros(a.shape), np.zeros(a.shape)
    np.add.at(dense, (a.rows_of_entries, a.indices), a.values)
    np.add.at(sizes, (a.rows_of_entries, a.indices), abs(a.values))
    assert (abs(multiplied(name, a, x) - dense @ x) <= 1e-5 * (sizes @ abs(x))).all()


@pytest.mark.parametrize("name", RUNGS)
@pytest.mark.parametrize(("p", "q"), [(1, 1), (3, 20), (44, 66)])
def test_sine_modes_are_eigenvectors_of_the_laplacian(name: str, p: int, q: int) -> None:
    height, width = 45, 67
    down, across = (np.sin(k * math.pi * np.arange(1, many + 1) / (many + 1)) for k, many in ((p, height), (q, width)))
    halves = (k * math.pi / (2 * (many + 1)) for k, many in ((p, height), (q, width)))
    eigenvalue = 4 * sum(math.sin(half) ** 2 for half in halves)
    mode = np.outer(down, across).ravel()
    np.testing.assert_allclose(multiplied(name, laplacian(height, width), mode), eigenvalue * mode, atol=2e-6)


@pytest.mark.parametrize("name", RUNGS)
def test_the_gradient_of_x_is_the_transpose_times_that_of_y(name: str) -> None:
    a = random(LENGTHS["a power of the rank"], 150)
    draw = np.random.default_rng(9)
    x, g = draw.standard_normal(a.shape[1]), draw.standard_normal(a.shape[0])
    transpose = compressed(a.indices, a.rows_of_entries, a.values, a.shape[::-1])
    scale = np.bincount(a.rows_of_entries, abs(a.values * x[a.indices]), a.shape[0]) @ abs(g)
    assert abs(g @ multiplied(name, a, x) - multiplied(name, transpose, g) @ x) < 1e-6 * scale


@pytest.mark.parametrize("name", RUNGS)
def test_the_matrix_of_a_permutation_permutes(name: str) -> None:
    order = np.random.default_rng(5).permutation(3000)
    x = np.arange(3000.0)
    a = compressed(np.arange(3000), order, np.ones(3000), (3000, 3000))
    np.testing.assert_array_equal(multiplied(name, a, x), x[order])


@pytest.mark.parametrize("name", RUNGS[-2:])
def test_runs_agree_to_the_bit_where_rows_lie_in_several_shares(name: str) -> None:
    a = random(LENGTHS["a power of the rank"], 150)
    x = np.random.default_rng(2).standard_normal(150)
    first = multiplied(name, a, x)
    assert all((multiplied(name, a, x) == first).all() for _ in range(3))
