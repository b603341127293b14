"""cuBLAS's functions against NumPy in float64: scalars on either side, odd shapes, odd strides."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from gridstride.programs.toolchain.wheels import Toolchain

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the whole table in one run under the sanitizer


Array = np.ndarray[Any, Any]


SOURCE = Path(__file__).parent / "cublas_calls.cu"


TYPES: dict[str, Any] = {"S": np.float32, "D": np.float64, "half": np.float16, "bf16": ml_dtypes.bfloat16}


IN_C = {"S": "float", "D": "double", "half": "half", "bf16": "bf16"}


TOLERANCE = {"S": 2e-5, "D": 1e-13, "half": 2e-3, "bf16": 1.6e-2}


@dataclass
class Case:
    """One call: the line that the program reads, its arrays, and what it must leave or say."""

    line: str
    arrays: dict[str, Array]
    expected: Array | None = None
    value: float | None = None
    status: str = "CUBLAS_STATUS_SUCCESS"
    tolerance: float = 0.0
    title: str = field(default="")

    def __post_init__(self) -> None:
        self.title = self.title or self.line.replace(" ", "-")


def _random(kind: str, *shape: int, seed: int = 0) -> Array:
    values = np.random.default_rng(seed + sum(shape)).standard_normal(shape)
    return np.asarray(values.astype(TYPES[kind]))


def _columns(matrix: Array, leading: int, fill: float = np.nan) -> Array:
    """A matrix in columns, each `leading` long; what is between holds `fill`."""
    held = np.full((matrix.shape[1], leading), fill, matrix.dtype)
    held[:, : matrix.shape[0]] = matrix.T
    return held


def _operand(kind: str, op: str, rows: int, columns: int, leading: int, seed: int) -> tuple[Array, Array]:
    """What op() makes of it, in float64, and how it lies in memory."""
    stored = _random(kind, *((rows, columns) if op == "N" else (columns, rows)), seed=seed)
    wide = stored.astype(np.float64)
    return (wide if op == "N" else wide.T), _columns(stored, leading)


def gemm(
    kind: str, ops: str, m: int, n: int, k: int, *, extra: int = 0, mode: str = "host", alpha: float = 0.75,
    beta: float = -1.5, name: str = "gemm", out: str = "",
) -> Case:  # fmt: skip
    """`extra` elements more than needed from column to column. `name` "ex" is GemmEx, with a result of type `out`."""
    out = out or kind
    lda, ldb, ldc = (m if ops[0] == "N" else k) + extra, (k if ops[1] == "N" else n) + extra, m + extra
    a, stored_a = _operand(kind, ops[0], m, k, lda, 1)
    b, stored_b = _operand(kind, ops[1], k, n, ldb, 2)
    c = _random(out, m, n, seed=3)
    held = _columns(c if beta else np.full_like(c, np.nan), ldc, fill=7.0)
    want = held.copy().astype(np.float64)
    want[:, :m] = (alpha * (a @ b) + (beta * c.astype(np.float64) if beta else 0.0)).T
    factors = np.array([alpha, beta], np.float64 if kind == "D" else np.float32)
    letter = "H" if name == "gemm" and kind == "half" else kind if name == "gemm" else "X"
    name = f"{IN_C[kind]}_{IN_C[out]}" if name == "ex" else name
    return Case(
        f"{letter} {mode} {name} {ops[0]} {ops[1]} {m} {n} {k} {lda} {ldb} {ldc}",
        {"x": stored_a, "y": stored_b, "z": held, "factors": factors}, want,
        tolerance=TOLERANCE[out if out == kind else kind] * max(1, k) ** 0.5,
    )  # fmt: skip


def batch(kind: str, ops: str, m: int, n: int, k: int, count: int, *, name: str = "strided", out: str = "") -> Case:
    """Products of a batch, matrices without a gap; "batched" takes lists of them, the first one's from the last on."""
    each = [gemm(kind, ops, m, n, k, name="gemm" if name != "ex" else name, out=out) for _ in range(count)]
    for number, case in enumerate(each):
        case.arrays["x"] = (case.arrays["x"] * (number + 1)).astype(TYPES[kind])
    arrays = {array: np.stack([case.arrays[array] for case in each]) for array in ("x", "y", "z")}
    beta = float(each[0].arrays["factors"][1])
    scales = range(count, 0, -1) if name == "batched" else range(1, count + 1)
    products = [
        scale * (case.expected - beta * case.arrays["z"]) + beta * case.arrays["z"]
        for scale, case in zip(scales, each, strict=True)
        if case.expected is not None
    ]
    words = each[0].line.replace(" gemm ", f" {name} ")
    return Case(
        f"{words} {m * k} {k * n} {m * n} {count}", arrays | {"factors": each[0].arrays["factors"]}, np.stack(products),
        tolerance=each[0].tolerance * count,
    )  # fmt: skip


def vector_copy(direction: str, mode: str, kind: str, n: int, steps: tuple[int, int]) -> Case:
    """SetVector and GetVector; `mode` "stream" is their Async form. What lies between the elements stays."""
    x, z = _random(kind, n * steps[0], seed=1), _random(kind, n * steps[1], seed=2)
    want = z.copy()
    want[:: steps[1]] = x[:: steps[0]]
    line = f"C {mode} {direction}_vector {x.itemsize} {n} {steps[0]} {steps[1]}"
    return Case(line, {"x": x, "z": z}, want.astype(np.float64))


def matrix_copy(direction: str, mode: str, kind: str, shape: tuple[int, int], leading: tuple[int, int]) -> Case:
    """SetMatrix and GetMatrix, from one leading dimension to another."""
    (rows, columns), (lda, ldb) = shape, leading
    x, z = _random(kind, columns, lda, seed=1), _random(kind, columns, ldb, seed=2)
    want = z.copy()
    want[:, :rows] = x[:, :rows]
    line = f"C {mode} {direction}_matrix {x.itemsize} {rows} {columns} {lda} {ldb}"
    return Case(line, {"x": x, "z": z}, want.astype(np.float64))


def _stepped(values: Array, step: int) -> Array:
    """A vector of BLAS with that step; with a negative one its first element lies last."""
    held = np.full(len(values) * abs(step), 9.0, values.dtype)
    held[:: abs(step)] = values[::-1] if step < 0 else values
    return held


def vectors(kind: str, name: str, n: int, steps: tuple[int, int], mode: str = "host") -> Case:
    """Level 1: x with the first step, and y (dot) or z (the rest) with the second."""
    x, z = _random(kind, n, seed=4), _random(kind, n, seed=5)
    wide_x, wide_z = x.astype(np.float64), z.astype(np.float64)
    alpha = -1.25
    factors = np.array([alpha], TYPES[kind])
    left = {"axpy": wide_z + alpha * wide_x, "scal": alpha * wide_z, "copy": wide_x, "swap": wide_x}
    value = {"dot": wide_x @ wide_z, "nrm2": np.linalg.norm(wide_x), "asum": np.abs(wide_x).sum()}
    count = 1 if name in ("scal", "nrm2", "asum") else 2
    words = " ".join(map(str, steps[:count] if name != "scal" else steps[1:]))
    arrays = {"x": _stepped(x, steps[0]), "y" if name == "dot" else "z": _stepped(z, steps[1]), "factors": factors}
    expected = _stepped(left[name], steps[1]) if name in left else None
    return Case(f"{kind} {mode} {name} {n} {words}", arrays, expected, value.get(name), tolerance=TOLERANCE[kind] * 50)


def gemv(kind: str, op: str, m: int, n: int, steps: tuple[int, int], mode: str = "host") -> Case:
    """A matrix of leading dimension m + 3, and vectors with steps."""
    a = _random(kind, m, n, seed=6)
    wide = a.astype(np.float64) if op == "N" else a.astype(np.float64).T
    x, y = _random(kind, wide.shape[1], seed=7), _random(kind, wide.shape[0], seed=8)
    want = 0.5 * (wide @ x.astype(np.float64)) + 2.0 * y
    return Case(
        f"{kind} {mode} gemv {op} {m} {n} {m + 3} {steps[0]} {steps[1]}",
        {"x": _columns(a, m + 3), "y": _stepped(x, steps[0]), "z": _stepped(y, steps[1]),
         "factors": np.array([0.5, 2.0], TYPES[kind])},
        _stepped(want, steps[1]), tolerance=TOLERANCE[kind] * 20,
    )  # fmt: skip


def ger(kind: str, m: int, n: int) -> Case:
    x, y, a = _random(kind, m, seed=1), _random(kind, n, seed=2), _random(kind, m, n, seed=3)
    want = _columns(a.astype(np.float64) + 0.5 * np.outer(x.astype(np.float64), y), m)
    arrays = {"x": _stepped(x, -2), "y": y, "z": _columns(a, m), "factors": np.array([0.5], TYPES[kind])}
    return Case(f"{kind} host ger {m} {n} -2 1 {m}", arrays, want, tolerance=TOLERANCE[kind])


def transpose(kind: str, m: int, n: int) -> Case:
    """geam as it is mostly used: C = A^T, its second operand of no weight and of no values."""
    a = _random(kind, n, m, seed=3)
    arrays = {"x": _columns(a, n + 1), "y": np.full((n, m), np.nan, TYPES[kind]),
              "z": np.full((n, m), np.nan, TYPES[kind]), "factors": np.array([1, 0], TYPES[kind])}  # fmt: skip
    return Case(f"{kind} host geam T N {m} {n} {n + 1} {m} {m}", arrays, a.astype(np.float64), tolerance=1e-30)


def extreme(name: str, values: list[float], step: int, number: int) -> Case:
    kind = "S" if name[1] == "s" else "D"
    return Case(f"I host {name} {len(values)} {step}", {"x": _stepped(np.array(values, TYPES[kind]), step)},
                value=number, title=f"{name}-{number}")  # fmt: skip


def refused(line: str, status: str) -> Case:
    arrays = {"x": np.zeros(64, np.float32), "y": np.zeros(64, np.float32), "z": np.zeros(64, np.float32),
              "factors": np.ones(2, np.float32)}  # fmt: skip
    return Case(line, arrays, np.zeros(64), status=f"CUBLAS_STATUS_{status}")


CASES = [
    *(gemm("S", ops, 37, 29, 41, extra=extra) for ops, extra in (("NN", 0), ("TN", 3), ("NT", 1), ("TT", 2))),
    *(gemm("D", ops, 37, 29, 41, extra=2, mode="device") for ops in ("NN", "CN", "NC", "TT")),
    gemm("S", "NN", 130, 257, 19, mode="device"),
    gemm("S", "TN", 800, 750, 9),  # tiles of 64
    gemm("S", "NT", 1500, 1450, 5),  # tiles of 128
    gemm("D", "NT", 800, 750, 5),
    gemm("S", "NN", 1, 1, 300),
    gemm("S", "NN", 40, 33, 7, beta=0.0, extra=1),  # C holds NaN
    gemm("S", "NN", 40, 33, 0, beta=2.0, extra=1),
    gemm("half", "NN", 50, 45, 64),
    gemm("half", "TN", 50, 45, 64, name="ex"),
    gemm("half", "NT", 50, 45, 64, name="ex", out="S"),
    gemm("bf16", "NN", 50, 45, 64, name="ex"),
    gemm("bf16", "TT", 50, 45, 64, name="ex", out="S"),
    gemm("S", "TN", 37, 29, 41, name="ex", extra=1),
    gemm("D", "NT", 37, 29, 41, name="ex", extra=2),
    batch("S", "NN", 20, 17, 9, 5),
    batch("D", "TN", 33, 40, 12, 3),
    batch("S", "NT", 20, 17, 9, 5, name="batched"),
    batch("D", "TN", 33, 40, 12, 3, name="batched"),
    batch("half", "TN", 18, 21, 16, 3, name="ex"),
    batch("bf16", "NN", 18, 21, 16, 3, name="ex", out="S"),
    batch("D", "NT", 18, 21, 16, 2, name="ex"),
    *(vector_copy(way, mode, kind, 300, steps) for way in ("set", "get") for mode, kind, steps in (
        ("host", "S", (1, 1)), ("host", "D", (3, 2)), ("stream", "D", (1, 1)), ("stream", "S", (2, 5)),
    )),
    *(matrix_copy(way, mode, "S", (13, 7), leading) for way in ("set", "get") for mode, leading in (
        ("host", (15, 13)), ("stream", (13, 20)),
    )),
    refused("C host set_vector 4 8 0 1", "INVALID_VALUE"),
    refused("C host get_matrix 4 8 2 7 8", "INVALID_VALUE"),
    *(vectors("S", name, 1000, (1, 1)) for name in ("axpy", "scal", "copy", "swap", "dot", "nrm2", "asum")),
    *(vectors("D", name, 517, (3, -2), "device") for name in ("axpy", "copy", "swap", "dot")),
    *(vectors("D", name, 517, (3, 2), "device") for name in ("scal", "nrm2", "asum")),
    *(gemv(kind, op, 75, 61, steps, mode) for kind, op, steps, mode in (
        ("S", "N", (1, 1), "host"), ("S", "T", (2, -1), "device"), ("D", "N", (-1, 3), "host"),
        ("D", "T", (1, 1), "host"),
    )),
    ger("S", 21, 34), ger("D", 21, 34), transpose("S", 35, 18), transpose("D", 35, 18),
    extreme("isamax", [1, -5, 5, 2], 1, 2), extreme("idamin", [3, -1, 1, 2], 2, 2),
    extreme("isamin", [0, 0, 1], 1, 1), extreme("idamax", [0.5] * 700 + [-9.0], 3, 701),
    refused("S host gemm N N 8 8 8 7 8 8", "INVALID_VALUE"),
    refused("S host gemm T N 8 4 2 1 2 8", "INVALID_VALUE"),
    refused("S host gemm N N -1 8 8 8 8 8", "INVALID_VALUE"),
    refused("S host gemv N 8 8 7 1 1", "INVALID_VALUE"),
    refused("S host gemv N 8 8 8 0 1", "INVALID_VALUE"),
]  # fmt: skip


@pytest.fixture(scope="module")
def results(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[list[str]], Path, str]:
    """All calls in one run under the sanitizer: what was printed for each, the folder of results, stderr."""
    folder = tmp_path_factory.mktemp("cublas")
    for number, case in enumerate(CASES):
        for name, array in case.arrays.items():
            (folder / f"{number}_{name}").write_bytes(np.ascontiguousarray(array).tobytes())
    command = [sys.executable, "-m", "gridstride", "run", "--sanitize", str(SOURCE), "--", str(folder)]
    lines = "".join(f"{case.line}\n" for case in CASES)
    done = subprocess.run(command, capture_output=True, text=True, input=lines, timeout=600)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()], folder, done.stderr


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.title for case in CASES])
def test_it_equals_numpy(number: int, results: tuple[list[list[str]], Path, str]) -> None:
    case, (lines, folder, _) = CASES[number], results
    assert lines[number][-1] == case.status
    if case.value is not None:
        assert float(lines[number][0]) == pytest.approx(case.value, rel=case.tolerance, abs=case.tolerance)
    if case.expected is not None:
        raw = (folder / f"{number}_out").read_bytes()
        got = np.frombuffer(raw, case.arrays["z"].dtype).astype(np.float64)
        np.testing.assert_allclose(got, case.expected.ravel(), rtol=case.tolerance, atol=case.tolerance)


def test_its_kernels_race_nowhere_read_nothing_unset_and_leave_no_memory(
    results: tuple[list[list[str]], Path, str],
) -> None:
    assert "gridstride:" not in results[2]
