"""Calls of cuSPARSE with what NumPy says must come out: the lines that cusparse_calls.cu reads, and their arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
TYPES: dict[str, Any] = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
TOLERANCE = {"S": 3e-5, "D": 1e-12, "C": 3e-5, "Z": 1e-12}
ALPHA, BETA = 0.75, -1.5


@dataclass
class Case:
    """One call: its line, its arrays, the arrays that it must leave, and what is printed before the status."""

    line: str
    arrays: dict[str, Array]
    left: dict[str, Array] = field(default_factory=dict)
    said: str = ""
    status: str = "CUSPARSE_STATUS_SUCCESS"


def values(kind: str, *shape: int, seed: int = 0) -> Array:
    random = np.random.default_rng(seed + sum(shape))
    made = random.uniform(0.5, 2.0, shape) * random.choice([-1, 1], shape)
    if kind in "CZ":
        made = made + 1j * random.standard_normal(shape)
    return made.astype(TYPES[kind])


def scattered(kind: str, rows: int, columns: int, density: float = 0.2, seed: int = 0) -> Array:
    """A dense matrix with few entries; the second row and column and the last two rows have none."""
    made = values(kind, rows, columns, seed=seed)
    made[np.random.default_rng(seed + 1).random((rows, columns)) > density] = 0
    made[1:2], made[:, 1:2], made[max(2, rows - 2) :] = 0, 0, 0
    return made


def op(matrix: Array, letter: str) -> Array:
    return matrix if letter == "N" else matrix.T if letter == "T" else matrix.conj().T


@dataclass
class Stored:
    """A matrix in one of the formats: its three arrays, and its words in a line."""

    matrix: Array
    form: str
    index: int = 32
    base: int = 0

    @property
    def parts(self) -> tuple[Array, Array, Array]:
        matrix = self.matrix.T if self.form == "csc" else self.matrix
        majors, minors = np.nonzero(matrix)
        offsets = np.searchsorted(majors, np.arange(matrix.shape[0] + 1)) if self.form != "coo" else majors
        numbers = (offsets + self.base, minors + self.base)
        offsets, minors = (each.astype(np.int64 if self.index == 64 else np.int32) for each in numbers)
        return offsets, minors, matrix[np.nonzero(matrix)]

    def arrays(self, prefix: str = "") -> dict[str, Array]:
        return dict(zip((prefix + "offsets", prefix + "indices", prefix + "values"), self.parts, strict=True))

    @property
    def words(self) -> str:
        return f"{self.form} {self.matrix.shape[0]} {self.matrix.shape[1]} {np.count_nonzero(self.matrix)}"


def laid_out(matrix: Array, order: str, extra: int) -> Array:
    """As it lies in memory, each column (or row) `extra` elements longer than it is."""
    held = matrix if order == "row" else matrix.T
    made = np.full((held.shape[0], held.shape[1] + extra), 7, matrix.dtype)
    made[:, : held.shape[1]] = held
    return made


def dense_words(matrix: Array, order: str, extra: int) -> str:
    rows, columns = matrix.shape
    return f"{rows} {columns} {(columns if order == 'row' else rows) + extra} {order}"


def start(kind: str, stored: Stored | None = None, mode: str = "host") -> str:
    return f"{kind} {stored.index if stored else 32} {stored.base if stored else 0} {mode}"


def factors(kind: str, *given: complex) -> Array:
    return np.array(given or (ALPHA, BETA), TYPES[kind])


def spmv(
    kind: str, form: str, letter: str, index: int, base: int, mode: str, *, beta: float = BETA,
    shape: tuple[int, int] = (37, 23),
) -> Case:  # fmt: skip
    stored = Stored(scattered(kind, *shape), form, index, base)
    a = op(stored.matrix, letter)
    x, y = values(kind, a.shape[1], seed=1), values(kind, a.shape[0], seed=2)
    if beta == 0:
        y[:] = np.nan
    want = ALPHA * (a @ x) + (beta * y if beta else 0)
    arrays = stored.arrays() | {"x": x, "z": y, "factors": factors(kind, ALPHA, beta)}
    return Case(f"{start(kind, stored, mode)} spmv {letter} {stored.words}", arrays, {"z": want})


def spmm(
    kind: str, form: str, letters: str, orders: tuple[str, str], base: int, mode: str = "host", count: int = 1
) -> Case:
    stored = Stored(scattered(kind, 21, 34), form, 32, base)
    a = op(stored.matrix, letters[0])
    b = [values(kind, *((a.shape[1], 9) if letters[1] == "N" else (9, a.shape[1])), seed=3 + i) for i in range(count)]
    c = [values(kind, a.shape[0], 9, seed=30 + i) for i in range(count)]
    want = [ALPHA * (a @ op(b[i], letters[1])) + BETA * c[i] for i in range(count)]
    arrays = stored.arrays() | {
        "x": np.stack([laid_out(each, orders[0], 2) for each in b]),
        "z": np.stack([laid_out(each, orders[1], 3) for each in c]), "factors": factors(kind),
    }  # fmt: skip
    line = (
        f"{start(kind, stored, mode)} spmm {letters[0]} {letters[1]} {stored.words} {dense_words(b[0], orders[0], 2)} "
        f"{dense_words(c[0], orders[1], 3)} {count}"
    )
    return Case(line, arrays, {"z": np.stack([laid_out(each, orders[1], 3) for each in want])})


def sddmm(kind: str, form: str, letters: str, orders: tuple[str, str], base: int) -> Case:
    stored = Stored(scattered(kind, 19, 26), form, 32, base)
    a = values(kind, *((19, 11) if letters[0] == "N" else (11, 19)), seed=4)
    b = values(kind, *((11, 26) if letters[1] == "N" else (26, 11)), seed=5)
    product = ALPHA * (op(a, letters[0]) @ op(b, letters[1])) + BETA * stored.matrix
    want = product.T[np.nonzero(stored.matrix.T)] if form == "csc" else product[np.nonzero(stored.matrix)]
    arrays = stored.arrays() | {
        "x": laid_out(a, orders[0], 1),
        "y": laid_out(b, orders[1], 2),
        "factors": factors(kind),
    }
    line = (
        f"{start(kind, stored)} sddmm {letters[0]} {letters[1]} {stored.words} {dense_words(a, orders[0], 1)} "
        f"{dense_words(b, orders[1], 2)}"
    )
    return Case(line, arrays, {"values": want})


def triangle(kind: str, n: int, fill: str, diagonal: str, seed: int = 0) -> tuple[Array, Array]:
    """A matrix with entries on both sides, and the triangle of it that counts."""
    matrix = values(kind, n, n, seed=seed) * 0.3
    matrix[np.random.default_rng(seed).random((n, n)) > 0.25] = 0
    np.fill_diagonal(matrix, values(kind, n, seed=seed + 1) * 3)
    used = np.tril(matrix) if fill == "lower" else np.triu(matrix)
    if diagonal == "unit":
        np.fill_diagonal(used, 1)
    return matrix, used


def spsv(
    kind: str, form: str, letter: str, fill: str, diagonal: str, index: int = 32, base: int = 0, mode: str = "host",
    update: str = "none",
) -> Case:  # fmt: skip
    matrix, used = triangle(kind, 45, fill, diagonal)
    stored = Stored(matrix, form, index, base)
    new = values(kind, 45, seed=9) * 2 if update == "diagonal" else stored.parts[2] * TYPES[kind](0.5)
    if update == "diagonal":
        np.fill_diagonal(used, new)
    elif update == "all":
        used = used * 0.5
    x = values(kind, 45, seed=6)
    want = np.linalg.solve(op(used, letter), ALPHA * x)
    arrays = stored.arrays() | {"x": x, "y": new, "z": np.full(45, np.nan, TYPES[kind]), "factors": factors(kind)}
    line = f"{start(kind, stored, mode)} spsv {letter} {fill} {diagonal} {update} {stored.words}"
    return Case(line, arrays, {"z": want})


def spsm(kind: str, form: str, letters: str, fill: str, diagonal: str, orders: tuple[str, str]) -> Case:
    matrix, used = triangle(kind, 31, fill, diagonal)
    stored = Stored(matrix, form)
    b = values(kind, *((31, 5) if letters[1] == "N" else (5, 31)), seed=7)
    c = np.full((31, 5), np.nan, TYPES[kind])
    want = np.linalg.solve(op(used, letters[0]), ALPHA * op(b, letters[1]))
    arrays = stored.arrays() | {
        "x": laid_out(b, orders[0], 1),
        "z": laid_out(c, orders[1], 2),
        "factors": factors(kind),
    }
    line = (
        f"{start(kind, stored)} spsm {letters[0]} {letters[1]} {fill} {diagonal} {stored.words} "
        f"{dense_words(b, orders[0], 1)} {dense_words(c, orders[1], 2)}"
    )
    return Case(line, arrays, {"z": laid_out(want, orders[1], 2)})


def spgemm(kind: str, index: int, base: int, mode: str, density: float = 0.15) -> Case:
    a = Stored(scattered(kind, 24, 33, density), "csr", index, base)
    b = Stored(scattered(kind, 33, 18, density, seed=8), "csr", index, base)
    pattern = (a.matrix != 0).astype(float) @ (b.matrix != 0).astype(float) > 0
    product = ALPHA * (a.matrix @ b.matrix)
    places = Stored(pattern.astype(np.float32), "csr", index, base).parts
    arrays = a.arrays() | b.arrays("b_") | {"factors": factors(kind, ALPHA, 0)}
    left = {"c_offsets": places[0], "c_indices": places[1], "c_values": product[np.nonzero(pattern)]}
    return Case(f"{start(kind, a, mode)} spgemm {a.words} {b.words}", arrays, left)
