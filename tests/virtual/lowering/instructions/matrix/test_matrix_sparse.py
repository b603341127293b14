"""mma.sp and Volta's m8n8k4 against recordings of an H200, and against matrices written out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sparse_cases
from sparse_cases import Sparse, Volta
from tensor_cases import KINDS

import gridstride as gs

RECORDED = np.load(Path(__file__).parents[3] / "fixtures" / "sparse_cores_h200.npz")
GIVEN, KEPT = 12, 8
"""Warps whose fragments were made, and warps whose results were kept."""

CASES = list(sparse_cases.cases())
VOLTA = list(sparse_cases.volta_cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title.partition("aligned.")[2])
def test_sparse_products_agree_with_an_h200_bit_for_bit(case: Sparse) -> None:
    with gs.use("virtual"):
        got = sparse_cases.run(case, sparse_cases.given(case, GIVEN))[:, :KEPT]
    _same(got, RECORDED[case.title])


@pytest.mark.parametrize("case", VOLTA, ids=lambda case: case.title.partition("aligned.")[2])
def test_voltas_products_agree_with_an_h200_bit_for_bit(case: Volta) -> None:
    with gs.use("virtual"):
        got = sparse_cases.volta_run(case, sparse_cases.volta_given(case, GIVEN))[:, :KEPT]
    _same(got, RECORDED[case.title])


def _same(got: np.ndarray, wanted: np.ndarray) -> None:
    wrong = {KINDS[w % len(KINDS)] for w in np.flatnonzero((got != wanted).any((0, 2)))}
    assert not wrong, wrong


def unpacked(words: np.ndarray, bits: int, *, signed: bool) -> np.ndarray:
    """Registers (registers, lanes) as elements (registers, lanes, items)."""
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    fields = (words[..., None] >> shifts & np.uint32((1 << bits) - 1)).astype(np.int64)
    return np.where(fields >> (bits - 1) & 1, fields - (1 << bits), fields) if signed else fields


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.d == "s32"], ids=lambda case: case.title.partition("aligned.")[2]
)
def test_sparse_integers_are_those_of_the_matrix_written_out(case: Sparse) -> None:
    """A is written out by its metadata, B and C by the ISA's tables, and the product taken with Python's integers."""
    bits, given = int(case.a[1:]), [x[:, 0] for x in sparse_cases.given(case, GIVEN)]
    a, b = (unpacked(x, bits, signed=t[0] == "s") for x, t in zip(given[:2], (case.a, case.b), strict=True))
    packed, half = 32 // bits, case.k // 2
    dense, right, total = np.zeros((16, case.k), np.int64), np.zeros((case.k, 8), np.int64), np.zeros((16, 8), np.int64)
    for lane in range(32):
        g, t = divmod(lane, 4)
        for register in range(len(a)):
            row = g + 8 * (register % 2)
            for item in range(packed):
                j = (register // 2 * 4 + t) * packed + item
                unit = j // 2 if bits == 4 else j
                holder = 4 * g + case.selector * (2 if half * bits == 128 else 4) + unit // 16 * 2 + row // 8
                index = int(given[3][0, holder]) >> 2 * (unit % 16) & 3
                dense[row, j // 4 * 8 + 2 * index + j % 2 if bits == 4 else j // 2 * 4 + index] = a[
                    register, lane, item
                ]
        for register in range(len(b)):
            for item in range(packed):
                right[(register * 4 + t) * packed + item, g] = b[register, lane, item]
        for register in range(4):
            total[g + 8 * (register // 2), 2 * t + register % 2] = given[2][register, lane].astype(np.int32)
    total += dense @ right
    if case.rule:
        total = total.clip(-(2**31), 2**31 - 1)
    with gs.use("virtual"):
        got = sparse_cases.run(case, sparse_cases.given(case, GIVEN))[:, 0].astype(np.int32)
    wanted = [[total[l // 4 + 8 * (r // 2), 2 * (l % 4) + r % 2] for l in range(32)] for r in range(4)]  # noqa: E741
    np.testing.assert_array_equal(got, np.array(wanted).astype(np.int32))
