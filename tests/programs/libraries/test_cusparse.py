"""cuSPARSE's functions against NumPy's dense ones: each format, width and base of indices, scalars on either side."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.programs.libraries import cusparse_cases as one
from tests.programs.libraries import cusparse_more_cases as more
from tests.programs.libraries.cusparse_cases import TOLERANCE, Case

from gridstride.programs.toolchain.wheels import Toolchain

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the whole table in one run under the sanitizer
SOURCE = Path(__file__).parent / "cusparse_calls.cu"

CASES = [
    *(one.spmv(kind, form, letter, index, base, mode) for kind, form, letter, index, base, mode in (
        ("S", "csr", "N", 32, 0, "host"), ("D", "csr", "N", 64, 1, "device"), ("S", "csr", "T", 32, 1, "device"),
        ("D", "csc", "N", 32, 0, "host"), ("D", "csc", "T", 64, 1, "host"), ("S", "coo", "N", 32, 1, "host"),
        ("D", "coo", "T", 64, 0, "device"), ("C", "csr", "C", 32, 0, "host"), ("Z", "csc", "C", 32, 1, "device"),
        ("Z", "coo", "C", 32, 0, "host"), ("C", "csr", "N", 64, 1, "host"),
    )),
    *(one.spmv("D", form, "N", 32, 0, "host", beta=0.0) for form in ("csr", "csc", "coo")),
    one.spmv("S", "csr", "N", 32, 0, "host", shape=(700, 90)),
    one.spmv("S", "csr", "N", 32, 0, "host", shape=(1, 1)),
    *(one.spmm(kind, form, letters, orders, base, mode) for kind, form, letters, orders, base, mode in (
        ("S", "csr", "NN", ("col", "col"), 0, "host"), ("S", "csr", "NN", ("row", "row"), 1, "device"),
        ("D", "csr", "TN", ("col", "row"), 0, "host"), ("D", "csr", "NT", ("row", "col"), 1, "host"),
        ("D", "csc", "NN", ("row", "row"), 0, "device"), ("D", "csc", "TT", ("col", "col"), 1, "host"),
        ("S", "coo", "NN", ("row", "col"), 1, "host"), ("D", "coo", "TN", ("col", "row"), 0, "host"),
        ("Z", "csr", "CC", ("col", "row"), 0, "host"), ("C", "coo", "NC", ("row", "row"), 0, "host"),
    )),
    one.spmm("S", "csr", "NN", ("col", "row"), 0, count=3),
    one.sddmm("S", "csr", "NN", ("row", "col"), 0), one.sddmm("D", "csc", "TN", ("col", "col"), 1),
    one.sddmm("D", "coo", "NT", ("row", "row"), 1), one.sddmm("Z", "csr", "TT", ("col", "row"), 0),
    *(one.spsv("D", "csr", letter, fill, diagonal) for letter in "NT" for fill in ("lower", "upper")
      for diagonal in ("unit", "plain")),
    one.spsv("S", "csr", "N", "lower", "plain", 64, 1, "device"), one.spsv("D", "csc", "N", "lower", "plain", 32, 1),
    one.spsv("D", "csc", "T", "upper", "unit", 64, 0), one.spsv("D", "coo", "N", "upper", "plain", 32, 1),
    one.spsv("D", "coo", "T", "lower", "plain", 64, 0), one.spsv("Z", "csr", "C", "upper", "plain"),
    one.spsv("D", "csr", "N", "lower", "plain", update="all"),
    one.spsv("D", "csr", "T", "upper", "plain", base=1, update="diagonal"),
    one.spsm("D", "csr", "NN", "lower", "plain", ("col", "col")),
    one.spsm("D", "csr", "TN", "lower", "plain", ("row", "col")),
    one.spsm("D", "coo", "NT", "upper", "unit", ("row", "row")),
    one.spsm("Z", "csc", "CN", "upper", "plain", ("col", "row")),
    one.spgemm("S", 32, 0, "host"), one.spgemm("D", 64, 1, "device"), one.spgemm("Z", 32, 1, "host"),
    one.spgemm("D", 32, 0, "host", density=0.9), one.spgemm("D", 32, 0, "host", density=0.0),
    *(more.to_dense(*each) for each in (
        ("S", "csr", "col", 32, 0), ("D", "csc", "row", 64, 1), ("Z", "coo", "row", 32, 1))),
    *(more.to_sparse(*each) for each in (
        ("S", "csr", "col", 32, 1), ("D", "csc", "row", 64, 0), ("C", "coo", "col", 32, 1))),
    *(more.sparse_vector(kind, name, index, base, mode) for name in ("gather", "scatter", "axpby")
      for kind, index, base, mode in (("S", 32, 0, "host"), ("Z", 64, 1, "device"))),
    more.sparse_vector("D", "rot", 32, 1),
    more.spvv("S", "N", "host"), more.spvv("D", "N", "device"), more.spvv("Z", "C", "host"),
    *(more.offsets_and_rows(name, base) for name in ("csr2coo", "coo2csr") for base in (0, 1)),
    more.csr2csc("S", 0), more.csr2csc("Z", 1),
    more.coosort("row", 333), more.coosort("column", 64), more.coosort("row", 1),
    more.csrsort("csr", 1), more.csrsort("csc", 0),
    *(more.factor(kind, name, base) for name in ("ilu", "ic") for kind, base in (("D", 0), ("S", 1), ("Z", 0))),
    more.factor("D", "ilu", 1, missing=7), more.factor("S", "ic", 0, missing=4),
    *(more.tridiagonal(kind, name, 37, 3) for kind, name in (
        ("D", "gtsv2"), ("Z", "gtsv2"), ("S", "nopivot"), ("D", "strided"), ("C", "strided"))),
    more.refused(one.spmv("S", "csr", "N", 32, 0, "host"), "INVALID_VALUE", "spmv N", "spmv T"),
    more.refused(one.spmm("S", "csr", "NN", ("col", "col"), 0), "INVALID_VALUE", "spmm N N", "spmm N T"),
    more.refused(one.spsv("D", "csr", "N", "lower", "unit"), "INVALID_VALUE", "csr 45", "csr 44"),
]  # fmt: skip


@pytest.fixture(scope="module")
def results(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[list[str]], Path, str]:
    """All calls in one run under the sanitizer: what was printed for each, the folder of results, stderr."""
    folder = tmp_path_factory.mktemp("cusparse")
    for number, case in enumerate(CASES):
        for name, array in case.arrays.items():
            (folder / f"{number}_{name}").write_bytes(np.ascontiguousarray(array).tobytes())
    command = [sys.executable, "-m", "gridstride", "run", "--sanitize", str(SOURCE), "--", str(folder)]
    lines = "".join(f"{case.line}\n" for case in CASES)
    done = subprocess.run(command, capture_output=True, text=True, input=lines, timeout=800)
    assert "cuSPARSE is GridStride's own here" in done.stderr
    return [line.split() for line in done.stdout.splitlines()], folder, done.stderr


def _check(case: Case, got: bytes, name: str) -> None:
    kind = case.line[0]
    want = case.left[name]
    if np.issubdtype(want.dtype, np.integer):
        np.testing.assert_array_equal(np.frombuffer(got, want.dtype), want.ravel())
        return
    tolerance = TOLERANCE[kind] * 30
    np.testing.assert_allclose(np.frombuffer(got, one.TYPES[kind]), want.ravel(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.line.replace(" ", "-") for case in CASES])
def test_it_equals_numpy(number: int, results: tuple[list[list[str]], Path, str]) -> None:
    case, (lines, folder, _) = CASES[number], results
    assert lines[number] == [*case.said.split(), case.status]
    for name in case.left:
        _check(case, (folder / f"{number}_{name}_out").read_bytes(), name)


def test_its_kernels_race_nowhere_and_read_nothing_unset_or_outside(
    results: tuple[list[list[str]], Path, str],
) -> None:
    assert "in kernel" not in results[2]
