"""wgmma in Python integers: where a descriptor says that an element lies, which registers hold what, and the sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import tensor_model
from tensor_cases import BITS, FIELDS
from tensor_model import Number
from wgmma_cases import ROOM, ROWS, SWIZZLES, THREADS, Case, Given, Place

CHUNK = 16

EIGHT_BIT_DIGITS = 13
"""Digits behind the point that a term of 8-bit floats and the sum keep."""


def offset(place: Place, row: int, byte: int, size: int) -> int:
    """Bytes from the operand's room to element `row` (of M or N) at `byte` of its k; `size`: bytes of an element.

    PTX ISA, "Matrix descriptor" and "Strides".
    """
    span = SWIZZLES[place.swizzle]
    width = span or CHUNK
    if place.transposed:
        k, (block, within) = byte // size, divmod(size * row, width)
        along, across = (place.leading, place.stride) if span else (place.stride, place.leading)
        at = block * along + k // 8 * across + k % 8 * width + within
    else:
        at = row // 8 * place.stride + row % 8 * width + byte // width * place.leading + byte % width
    at += place.start
    turned = (at >> 7) - place.base & max(0, span // CHUNK - 1)
    return at ^ turned << 4


def operand(case: Case, what: Given, matrix: str, block: int) -> np.ndarray:
    """Elements as bits, (rows, k stored): of A, or of B transposed."""
    place = case.a_place if matrix == "a" else case.b_place
    bits, rows = BITS[getattr(case, matrix)], ROWS if matrix == "a" else case.n
    columns = case.k // 2 if case.sparse and matrix == "a" else case.k
    if place is None:
        return _fragment(what.a[block], bits)
    found = np.zeros((rows, columns), np.uint64)
    start = 0 if matrix == "a" else ROOM["a"]
    image = what.shared[block]
    if bits == 1:
        for row in range(rows):
            own = np.array([image[start + offset(place, row, byte, 1)] for byte in range(columns // 8)], np.uint8)
            found[row] = np.unpackbits(own, bitorder="little")
        return found
    size = bits // 8
    words = image.view(f"<u{size}")
    for row in range(rows):
        for k in range(columns):
            found[row, k] = words[(start + offset(place, row, k * size, size)) // size]
    return found


def _fragment(registers: np.ndarray, bits: int) -> np.ndarray:
    """A out of four registers a thread: rows g and g + 8 of each warp's 16, 4 bytes of k a thread, then 16 on."""
    packed = 32 // bits
    found = np.zeros((ROWS, 8 * packed), np.uint64)
    for register, thread in np.ndindex(4, THREADS):
        warp, g, t = thread // 32, thread % 32 // 4, thread % 4
        row = 16 * warp + g + 8 * (register % 2)
        for item in range(packed):
            k = (4 * (register // 2) + t) * packed + item
            found[row, k] = int(registers[register, thread]) >> bits * item & (1 << bits) - 1
    return found


def matrix_of(registers: np.ndarray, bits: int) -> np.ndarray:
    """D out of its registers: columns 8j + 2t and the next, rows g and g + 8 of each warp's 16."""
    packed = 32 // bits
    found = np.zeros((ROWS, len(registers) * packed // 4 * 8), np.uint64)
    for register, thread in np.ndindex(len(registers), THREADS):
        warp, g, t = thread // 32, thread % 32 // 4, thread % 4
        for item in range(packed):
            number = register * packed + item
            row = 16 * warp + g + 8 * (number // 2 % 2)
            word = int(registers[register, thread]) >> bits * item & (1 << bits) - 1
            found[row, number // 4 * 8 + 2 * t + number % 2] = word
    return found


def partners(case: Case, meta: np.ndarray) -> np.ndarray:
    """(64, k stored): which k of B each stored element of A meets; two of four are stored, of tf32 one of two."""
    if not case.sparse:
        return np.tile(np.arange(case.k), (ROWS, 1))
    if case.a == "tf32":
        return np.array([[2 * g + (_code(case, meta, row, g) >> 3 & 1) for g in range(case.k // 2)]
                         for row in range(ROWS)])  # fmt: skip
    return np.array([[4 * g + (_code(case, meta, row, g) >> 2 * item & 3) for g in range(case.k // 4)
                      for item in range(2)] for row in range(ROWS)])  # fmt: skip


def _code(case: Case, meta: np.ndarray, row: int, group: int) -> int:
    """The four bits of metadata of a group: a lane has 32 bits of one row, or 16 of two."""
    warp, r = divmod(row, 16)
    lane = 32 * warp + 4 * (r % 8)
    if BITS[case.a] == 8:
        lane, at = lane + r // 8 + 2 * (group // 8), group % 8
    else:
        lane, at = lane + 2 * (case.selector or 0) + group // 4, group % 4 + 4 * (r // 8)
    return int(meta[lane]) >> 4 * at & 15


# -- sums -------------------------------------------------------------------------------------------------------------
def product(case: Case, what: Given, block: int) -> np.ndarray:
    """D's bits, (64, n)."""
    a, b = operand(case, what, "a", block), operand(case, what, "b", block)
    c = matrix_of(what.c[block], BITS[case.d]) if case.added else np.zeros((ROWS, case.n), np.uint64)
    ks = partners(case, what.meta[block])
    if case.a not in FIELDS:
        x, y, z = (signed(m, t) for m, t in ((a, case.a), (b, case.b), (c, case.d)))
        rows = [tensor_model.integers(x[i : i + 1], y[:, ks[i]].T, z[i : i + 1], case.rule)[0] for i in range(ROWS)]
        return np.stack(rows)
    return floats(case, a, b, c, ks)


def signed(values: np.ndarray, kind: str) -> np.ndarray:
    whole = values.astype(np.int64)
    return np.where(whole >> BITS[kind] - 1 & 1, whole - (1 << BITS[kind]), whole) if kind[0] == "s" else whole


def floats(case: Case, a: np.ndarray, b: np.ndarray, c: np.ndarray, ks: np.ndarray) -> np.ndarray:
    """One fused sum for each element."""
    left = [[decode(int(x), case.a, case.signs[0]) for x in row] for row in a]
    right = [[decode(int(x), case.b, case.signs[1]) for x in row] for row in b]
    result = np.zeros(c.shape, np.uint32)
    digits = EIGHT_BIT_DIGITS if BITS[case.a] == 8 else tensor_model.DIGITS
    for i, j in np.ndindex(c.shape):
        addend = tensor_model.decode(int(c[i, j]), case.d)
        met = [right[j][k] for k in ks[i]]
        result[i, j] = tensor_model.step(left[i], met, addend, half=case.d == "f16", digits=digits)
    return result


def decode(bits: int, name: str, sign: int) -> Number:
    """An element of A or B; 8-bit floats have exponents of their own."""
    found = tensor_model.decode(bits, name)
    if BITS[name] == 8 and found.value:
        found = replace(found, exponent=found.weight + FIELDS[name][1])
    if sign < 0:
        other = {"inf": "-inf", "-inf": "inf"}.get(found.special, found.special)
        found = replace(found, value=-found.value, special=other)
    return found
