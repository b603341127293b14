"""More calls of cuSPARSE, as in cusparse_cases.py: formats, vectors, orders, functions with a type in their name."""

from __future__ import annotations

import numpy as np
from tests.programs.libraries.cusparse_cases import (
    TYPES,
    Array,
    Case,
    Stored,
    dense_words,
    factors,
    laid_out,
    op,
    scattered,
    start,
    values,
)  # fmt: skip


def to_dense(kind: str, form: str, order: str, index: int, base: int) -> Case:
    stored = Stored(scattered(kind, 20, 27), form, index, base)
    b = np.full((20, 27), 5, TYPES[kind])
    arrays = stored.arrays() | {"z": laid_out(b, order, 2)}
    line = f"{start(kind, stored)} to_dense {stored.words} {dense_words(b, order, 2)}"
    return Case(line, arrays, {"z": laid_out(stored.matrix, order, 2)})


def to_sparse(kind: str, form: str, order: str, index: int, base: int) -> Case:
    stored = Stored(scattered(kind, 20, 27), form, index, base)
    offsets, indices, entries = stored.parts
    arrays = {"x": laid_out(stored.matrix, order, 3)}
    if form != "coo":
        arrays["offsets"] = np.zeros_like(offsets)
    line = f"{start(kind, stored)} to_sparse {form} 20 27 0 {dense_words(stored.matrix, order, 3)}"
    return Case(line, arrays, {"offsets": offsets, "indices": indices, "values": entries})


def sparse_vector(kind: str, name: str, index: int, base: int, mode: str = "host") -> Case:
    """The numbers of 17 out of 60 elements, and what a call makes of both vectors."""
    at = np.sort(np.random.default_rng(3).permutation(60)[:17])
    x, y = values(kind, 17, seed=1), values(kind, 60, seed=2)
    alpha, beta = factors(kind)
    new_x, new_y = x.copy(), y.copy()
    if name == "gather":
        new_x = y[at]
    elif name == "scatter":
        new_y[at] = x
    elif name == "axpby":
        new_y = beta * y
        new_y[at] += alpha * x
    else:
        new_x, new_y[at] = alpha * x + beta * y[at], alpha * y[at] - beta * x
    numbers = (at + base).astype(np.int64 if index == 64 else np.int32)
    arrays = {"indices": numbers, "values": x, "z": y, "factors": factors(kind)}
    left = {"z": new_y} | ({"values": new_x} if name in ("gather", "rot") else {})
    return Case(f"{kind} {index} {base} {mode} {name} 60", arrays, left)


def spvv(kind: str, letter: str, mode: str) -> Case:
    at = np.sort(np.random.default_rng(4).permutation(900)[:400])
    x, y = values(kind, 400, seed=1), values(kind, 900, seed=2)
    left = x.conj() if letter == "C" else x
    arrays = {"indices": at.astype(np.int32), "values": x, "x": y, "factors": factors(kind)}
    return Case(f"{kind} 32 0 {mode} spvv {letter} 900", arrays, {"z": np.array([left @ y[at]])})


def offsets_and_rows(name: str, base: int) -> Case:
    """csr2coo and coo2csr: each makes what the other takes."""
    matrix = scattered("S", 40, 30)
    offsets = Stored(matrix, "csr", base=base).parts[0]
    rows = Stored(matrix, "coo", base=base).parts[0]
    given, want = (offsets, rows) if name == "csr2coo" else (rows, offsets)
    return Case(f"S 32 {base} host {name} 40 {len(rows)}", {"offsets": given, "z": np.zeros_like(want)}, {"z": want})


def csr2csc(kind: str, base: int) -> Case:
    stored = Stored(scattered(kind, 40, 30), "csr", base=base)
    want = Stored(stored.matrix, "csc", base=base).arrays("c_")
    words = stored.words.removeprefix("csr ")
    return Case(f"{start(kind, stored)} csr2csc {words}", stored.arrays(), want)


def coosort(by: str, nnz: int) -> Case:
    """Some entries stand twice: they stay in the order that they had."""
    random = np.random.default_rng(nnz)
    rows, columns = (random.integers(0, most, nnz).astype(np.int32) for most in (30, 20))
    order = np.lexsort((columns, rows) if by == "row" else (rows, columns)).astype(np.int32)
    arrays = {"offsets": rows, "indices": columns}
    left = {"offsets": rows[order], "indices": columns[order], "z": order}
    return Case(f"S 32 0 host coosort {by} 30 20 {nnz}", arrays, left)


def csrsort(form: str, base: int) -> Case:
    stored = Stored(scattered("S", 25, 36, 0.4), form, base=base)
    offsets, indices, _ = stored.parts
    order = np.arange(len(indices), dtype=np.int32)
    for begin, end in zip(offsets[:-1] - base, offsets[1:] - base, strict=True):
        order[begin:end] = order[begin:end][::-1]
    arrays = {"offsets": offsets, "indices": indices[order]}
    return Case(f"S 32 {base} host csrsort {form} 25 36 {len(indices)}", arrays, {"indices": indices, "z": order})


def factor(kind: str, name: str, base: int, missing: int | None = None) -> Case:
    """Incomplete factors of a matrix that is larger on its diagonal; `missing` is the row without one."""
    n = 33
    matrix = scattered(kind, n, n, 0.15, seed=2)
    matrix = matrix + matrix.conj().T if name == "ic" else matrix
    np.fill_diagonal(matrix, 12)
    if missing is not None:
        matrix[missing, missing] = 0
    stored = Stored(matrix, "csr", base=base)
    arrays = stored.arrays()
    arrays["z"] = arrays.pop("values")
    line = f"{start(kind, stored)} {name} {n} {len(arrays['z'])}"
    if missing is not None:
        return Case(line, arrays, said=str(missing + base), status="CUSPARSE_STATUS_ZERO_PIVOT")
    made = (ilu if name == "ilu" else cholesky)(matrix.astype(np.complex128))
    want = made[np.nonzero(matrix)]
    return Case(line, arrays, {"z": want if kind in "CZ" else want.real}, said="-1")


def ilu(matrix: Array) -> Array:
    a, pattern = matrix.copy(), matrix != 0
    for i in range(len(a)):
        for k in range(i):
            if pattern[i, k]:
                a[i, k] /= a[k, k]
                a[i, k + 1 :] -= np.where(pattern[i, k + 1 :], a[i, k] * a[k, k + 1 :], 0)
    return a


def cholesky(matrix: Array) -> Array:
    """The lower triangle; what is above stays as it was."""
    a, pattern = matrix.copy(), matrix != 0
    for i in range(len(a)):
        for k in range(i + 1):
            if pattern[i, k]:
                rest = a[i, k] - (a[i, :k] * np.where(pattern[i, :k], a[k, :k].conj(), 0)).sum()
                a[i, k] = np.sqrt(rest) if i == k else rest / a[k, k]
    return a


def tridiagonal(kind: str, name: str, m: int, n: int) -> Case:
    """One matrix for n right sides; of `strided` each has its own. Small diagonals need exchanges of rows."""
    systems, step = (n, m + 2) if name == "strided" else (1, m + 2)
    lower, diagonal, upper = (values(kind, systems, step, seed=seed) for seed in (1, 2, 3))
    diagonal = diagonal * TYPES[kind](0.01 if name == "gtsv2" else 8)
    x = values(kind, n, step, seed=4)
    want = x.astype(np.complex128)
    for number in range(n):
        system = number if name == "strided" else 0
        d, lo, up = (part[system].astype(np.complex128) for part in (diagonal, lower, upper))
        matrix = np.diag(d[:m]) + np.diag(lo[1:m], -1) + np.diag(up[: m - 1], 1)
        want[number, :m] = np.linalg.solve(matrix, x[number, :m])
    arrays = {"offsets": lower, "x": diagonal, "y": upper, "z": x}
    return Case(f"{kind} 32 0 host {name} {m} {n} {step}", arrays, {"z": want if kind in "CZ" else want.real})


def refused(case: Case, status: str, *change: str) -> Case:
    """The same call with words of its line replaced: nothing is computed."""
    left = {"z": case.arrays["z"]} if "z" in case.arrays else {}
    return Case(case.line.replace(*change), case.arrays, left, status=f"CUSPARSE_STATUS_{status}")


__all__ = [
    "coosort", "csr2csc", "csrsort", "factor", "offsets_and_rows", "op", "refused", "sparse_vector", "spvv",
    "to_dense", "to_sparse", "tridiagonal",
]  # fmt: skip
