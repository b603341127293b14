"""mma and wmma.mma: fragments laid out as the PTX ISA says, sums bit for bit as the model of Hopper has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensor_cases
import tensor_model
from tensor_cases import BITS, LANES, Case

import gridstride as gs

Place = Callable[[int, int, int], tuple[int, int]]
"""(row, column) of element i of the lane with group g and thread t, as the ISA's sections word it."""

FIXTURE = Path(__file__).parents[3] / "fixtures" / "tensor_cores_h200.npz"

A: dict[tuple[int, int, int], Place] = {
    (16, 16, 8): lambda i, g, t: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    (16, 16, 16): lambda i, g, t: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (8 if i >= 4 else 0)),
    (32, 16, 4): lambda i, g, t: (g if i == 0 else g + 8, t),
    (32, 16, 8): lambda i, g, t: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
    (8, 8, 16): lambda i, g, t: (g, t * 4 + i),
    (8, 16, 16): lambda i, g, t: (g if i < 4 else g + 8, t * 4 + (i & 3)),
    (8, 16, 32): lambda i, g, t: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (16 if i >= 8 else 0)),
    (4, 8, 32): lambda i, g, t: (g, t * 8 + i),
    (4, 16, 32): lambda i, g, t: (g if i < 8 else g + 8, t * 8 + (i & 7)),
    (4, 16, 64): lambda i, g, t: (g if i < 8 or 16 <= i < 24 else g + 8, t * 8 + (i & 7) + (32 if i >= 16 else 0)),
    (1, 8, 128): lambda i, g, t: (g, t * 32 + i),
    (1, 16, 128): lambda i, g, t: (g if i < 32 else g + 8, t * 32 + (i & 31)),
    (1, 16, 256): lambda i, g, t: (g if i < 32 or 64 <= i < 96 else g + 8, t * 32 + (i & 31) + (128 if i >= 64 else 0)),
    (64, 8, 4): lambda i, g, t: (g, t),
    (64, 16, 4): lambda i, g, t: (g if i == 0 else g + 8, t),
    (64, 16, 8): lambda i, g, t: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
    (64, 16, 16): lambda i, g, t: (g if i % 2 == 0 else g + 8, i // 2 * 4 + t),
}
"""By bits of an element, rows and k."""

B: dict[tuple[int, int], Place] = {
    (16, 8): lambda i, g, t: (t * 2 + i, g),
    (16, 16): lambda i, g, t: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g),
    (32, 4): lambda i, g, t: (t, g),
    (32, 8): lambda i, g, t: (t if i == 0 else t + 4, g),
    (8, 16): lambda i, g, t: (t * 4 + i, g),
    (8, 32): lambda i, g, t: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g),
    (4, 32): lambda i, g, t: (t * 8 + i, g),
    (4, 64): lambda i, g, t: (t * 8 + (i & 7) + (32 if i >= 8 else 0), g),
    (1, 128): lambda i, g, t: (t * 32 + i, g),
    (1, 256): lambda i, g, t: (t * 32 + (i & 31) + (128 if i >= 32 else 0), g),
    (64, 4): lambda i, g, t: (t, g),
    (64, 8): lambda i, g, t: (t + 4 * i, g),
    (64, 16): lambda i, g, t: (t + 4 * i, g),
}
"""By bits of an element and k."""


def place_c(i: int, g: int, t: int) -> tuple[int, int]:
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


def matrix(registers: np.ndarray, bits: int, place: Place, size: tuple[int, int]) -> np.ndarray:
    """(warps, rows, columns) out of (registers, warps, lanes)."""
    packed = max(1, 32 // bits)
    found = np.zeros((registers.shape[1], *size), np.uint64)
    for i in range(len(registers) * packed):
        for lane in range(LANES):
            row, column = place(i, lane // 4, lane % 4)
            word = registers[i // packed, :, lane].astype(np.uint64)
            found[:, row, column] = word >> np.uint64(bits * (i % packed)) & np.uint64((1 << bits) - 1)
    return found


def signed(values: np.ndarray, kind: str) -> np.ndarray:
    whole = values.astype(np.int64)
    return np.where(whole >> BITS[kind] - 1 & 1, whole - (1 << BITS[kind]), whole) if kind[0] == "s" else whole


def modelled(case: Case, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    if case.a == "f64":
        return tensor_model.doubles(a, b, c, case.rule)
    if case.d == "s32":
        x, y, z = (signed(m, t) for m, t in zip((a, b, c), case.types[1:], strict=True))
        return tensor_model.integers(x, y, z, case.rule)
    return tensor_model.floats(a, b, c, case.types, case.split)


def tiles(case: Case, given: list[np.ndarray]) -> list[tuple[list[np.ndarray], list[np.ndarray]]]:
    """What a wmma shape consists of: for each tile the registers of A, B, C, and the places of D's among its own."""
    a, b, c = given
    if case.family == "mma":
        return [([a, b, c], [np.arange(case.registers[0])])]
    if case.m == 8 and case.n == 32:
        a, b = b, a
    rows = 8 if case.m == case.n == 8 else 16
    count = case.m * case.n // (8 * rows)
    tall = max(case.m, case.n) == 32
    wide = max(32, BITS[case.a])
    own_a, own_b = (size * case.k * BITS[case.a] // (LANES * wide) for size in (rows, 8))
    parts = []
    for i in range(count):
        x = a[own_a * i : own_a * (i + 1)] if tall else a[:own_a]
        y = b[:own_b] if tall else b[own_b * i : own_b * (i + 1)]
        each, every = case.registers[0] // count, case.registers[3] // count
        parts.append(([x, y, c[every * i : every * (i + 1)]], [np.arange(each * i, each * (i + 1))]))
    return parts


def agree(case: Case, given: list[np.ndarray], got: np.ndarray) -> None:
    """Holds D's registers against the model, tile by tile."""
    rows = 8 if case.m == 8 and case.n == 8 else 16
    bits = BITS[case.a]
    swapped = case.m == 8 and case.n == 32
    types = (case.d, case.b, case.a, case.c) if swapped else case.types
    plain = Case("mma", rows, 8, case.k, *types, case.rule)
    for (x, y, z), (own,) in tiles(case, given):
        a = matrix(x, bits, A[bits, rows, case.k], (rows, case.k))
        b = matrix(y, bits, B[bits, case.k], (case.k, 8))
        c = matrix(z, BITS[case.c], place_c, (rows, 8))
        d = matrix(got[own], BITS[case.d], place_c, (rows, 8))
        for warp in range(len(a)):
            if case.split:
                wanted = tensor_model.floats(a[warp], b[warp], c[warp], plain.types, case.split)
            else:
                wanted = modelled(plain, a[warp], b[warp], c[warp])
            wrong = np.argwhere(d[warp] != wanted)
            if len(wrong):
                i, j = wrong[0]
                kind = tensor_cases.KINDS[warp % len(tensor_cases.KINDS)]
                raise AssertionError(
                    f"{case.name}, {kind} numbers, element ({i}, {j}): {int(d[warp, i, j]):#x}, not "
                    f"{int(wanted[i, j]):#x} ({len(wrong)} wrong)"
                )


@pytest.mark.parametrize("case", list(tensor_cases.cases()), ids=lambda case: case.name)
def test_agrees_with_the_model_bit_for_bit(case: Case) -> None:
    given = tensor_cases.fragments(case, len(tensor_cases.KINDS))
    with gs.use("virtual"):
        agree(case, given, tensor_cases.run(case, given))


@pytest.mark.parametrize("case", list(tensor_cases.cases()), ids=lambda case: case.name)
def test_agrees_with_an_h200_bit_for_bit(case: Case) -> None:
    if not FIXTURE.exists():
        pytest.skip("no recording of an H200: bench/tensor_cores.py record makes one")
    with np.load(FIXTURE) as recorded:
        if case.name not in recorded:
            pytest.skip(f"the recording has no {case.name}")
        wanted = recorded[case.name]
    given = tensor_cases.fragments(case, wanted.shape[1])
    with gs.use("virtual"):
        got = tensor_cases.run(case, given)
    wrong = np.argwhere(got != wanted)
    assert not len(wrong), f"{len(wrong)} of {got.size} differ, the first at {wrong[0]}"


def test_an_addend_alone_is_returned_as_it_is() -> None:
    case = Case("mma", 16, 8, 16, "f32", "bf16", "bf16", "f32")
    a, b, c = tensor_cases.fragments(case, len(tensor_cases.KINDS))
    c[0, 2] = np.arange(1, 33)  # subnormals down to the smallest
    with gs.use("virtual"):
        got = tensor_cases.run(case, [np.zeros_like(a), b & np.uint32(0x3FFF3FFF), c])
    sums = np.where((c & np.uint32(0x7FFFFFFF)) > 0x7F800000, np.uint32(0x7FFFFFFF), c)
    np.testing.assert_array_equal(got, np.where(sums == 0x80000000, np.uint32(0), sums))


MALFORMED = [
    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, %r2;",
    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0}, [%r2];",
    "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%r2];",
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 %r0, {%r1};",
    "movmatrix.sync.aligned.m8n8.b16 %r0, %r1;",
    "wmma.load.a.b.sync.aligned.row.m16n16k16.global.s8 {%r0, %r1}, [%r2];",
    "wmma.load.a.sync.aligned.m16n16k16.global.s8 {%r0, %r1}, [%r2];",
    "wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%r0, %r1, %r3}, [%r2];",
    "wmma.load.a.sync.aligned.row.m16n16k32.global.s8 {%r0, %r1}, [%r2];",
    "wmma.store.d.sync.aligned.row.m16n16k16.global.s8 [%r2], {%r0, %r1};",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32 {%r0}, {%r0}, {%r0}, {%r0};",
    "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
    "{%r0, %r1, %r2, %r3}, {%r0, %r1}, {%r0, %r1}, {%r0, %r1, %r2, %r3}, %r4, 9;",
]


@pytest.mark.parametrize("text", MALFORMED)
def test_what_is_malformed_or_not_there_is_refused(text: str) -> None:
    body = f".visible .entry k()\n{{\n.reg .b32 %r<9>;\n{text}\nret;\n}}\n"
    with (
        gs.use("virtual"),
        pytest.raises(ValueError, match=r"does not have|PTX|operand|has no|needs|expected|cannot have"),
    ):
        gs.ptx(f".version 8.7\n.target sm_90a\n.address_size 64\n{body}")["k"][1, 32]()


REFUSED = [
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32", (4, 4, 2, 4)),
    ("mma.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", (4, 4, 2, 4)),
    ("mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32", (4, 4, 2, 4)),
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", (4, 4, 3, 4)),
    ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", (8, 4, 2, 8)),
    ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32", (4, 4, 2, 4)),
]


@pytest.mark.parametrize(("name", "registers"), REFUSED, ids=[f"{name} {n}" for name, n in REFUSED])
def test_what_is_not_known_is_refused(name: str, registers: tuple[int, ...]) -> None:
    lists = ", ".join("{" + ", ".join(f"%r{i}" for i in range(n)) + "}" for n in registers)
    body = f".visible .entry k()\n{{\n.reg .b32 %r<9>;\n{name} {lists};\nret;\n}}\n"
    ptx = f".version 8.7\n.target sm_90a\n.address_size 64\n{body}"
    with gs.use("virtual"), pytest.raises(Exception, match=r"does not have|has no|needs|expected|cannot have"):
        gs.ptx(ptx)["k"][1, 32]()
