"""Bits, logic, shifts and byte permutation against models written bit by bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_programs import against, edges, grid, run_instructions

TYPES = {f"{s}{w}": np.dtype(f"{'i' if s == 's' else 'u'}{w // 8}") for s in "bus" for w in (16, 32, 64)}
AMOUNTS = [0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 2**31, 2**32 - 1]


def ones(width: int) -> int:
    return (1 << width) - 1


@pytest.mark.parametrize("width", [32, 64])
def test_counting_and_reversing(width: int) -> None:
    models: dict[str, Callable[[int], int]] = {
        f"popc.b{width} {{d}}, {{a}};": lambda x: bin(x).count("1"),
        f"clz.b{width} {{d}}, {{a}};": lambda x: width - x.bit_length(),
    }
    values = [*edges(f"u{width // 8}"), *(1 << i for i in range(width)), *(ones(width) >> i for i in range(width))]
    inputs = [np.array(values, f"u{width // 8}")]
    against(models, inputs, np.uint32)
    against({f"brev.b{width} {{d}}, {{a}};": lambda x: int(f"{x:0{width}b}"[::-1], 2)}, inputs, f"u{width // 8}")


@pytest.mark.parametrize("t", ["u32", "s32", "u64", "s64"])
def test_bfind(t: str) -> None:
    width = int(t[1:])

    def found(x: int) -> int:
        return (~x if x < 0 else x).bit_length() - 1

    models = {
        f"bfind.{t} {{d}}, {{a}};": found,
        f"bfind.shiftamt.{t} {{d}}, {{a}};": lambda x: -1 if found(x) < 0 else width - 1 - found(x),
    }
    values = [*edges(TYPES[t]), *(1 << i for i in range(width - 1))]
    if t[0] == "s":
        values += [i - (1 << i) for i in range(width - 1)]
    against(models, [np.array(values, TYPES[t])], np.uint32)


def place(number: int, width: int) -> int:
    """A position or length as an H200 takes it: its low byte for 32-bit values, all of it for 64-bit ones."""
    return number & 0xFF if width == 32 else number


@pytest.mark.parametrize("t", ["u32", "s32", "u64", "s64"])
def test_bfe(t: str) -> None:
    width = int(t[1:])

    def model(x: int, start: int, length: int) -> int:
        start, length = place(start, width), place(length, width)
        bit = [x >> i & 1 for i in range(width)]
        sign = 0 if t[0] == "u" or not length else bit[min(start + length - 1, width - 1)]
        return sum((bit[start + i] if i < length and start + i < width else sign) << i for i in range(width))

    numbers = [0, 1, 8, width - 1, width, width + 1, 200, 255, 256, 257]
    values = grid(edges(TYPES[t])[::2], numbers, numbers, dtypes=[TYPES[t], np.uint32, np.uint32])
    against({f"bfe.{t} {{d}}, {{a}}, {{b}}, {{c}};": model}, values, TYPES[t])


@pytest.mark.parametrize("width", [32, 64])
def test_bfi(width: int) -> None:
    def model(x: int, into: int, start: int, length: int) -> int:
        start, length = place(start, width), place(length, width)
        for i in range(min(length, width)):
            if start + i < width:
                into = into & ~(1 << start + i) | (x >> i & 1) << start + i
        return into

    dtype, numbers = np.dtype(f"u{width // 8}"), [0, 1, 8, width - 1, width, width + 1, 255, 256]
    values = grid(edges(dtype)[::4], edges(dtype)[::5], numbers, numbers, dtypes=[dtype, dtype, np.uint32, np.uint32])
    against({f"bfi.b{width} {{d}}, {{a}}, {{b}}, {{c}}, {{e}};": model}, values, dtype)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 63), st.integers(0, 64))
@settings(max_examples=25, deadline=None)
def test_what_bfi_inserts_bfe_finds_again(x: int, into: int, start: int, length: int) -> None:
    length = min(length, 64 - start)
    inputs = [np.array([v], t) for v, t in ((x, np.uint64), (into, np.uint64), (start, np.uint32), (length, np.uint32))]
    text = "bfi.b64 %w0, {a}, {b}, {c}, {e}; bfe.u64 {d}, %w0, {c}, {e};"
    assert run_instructions([text], inputs, np.uint64)[0][0] == x & ones(length)


def test_bmsk_and_szext() -> None:
    def wrapped(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
        return lambda x, n: function(x, n & 31)

    def mask(start: int, length: int) -> int:
        return 0 if start >= 32 else ones(min(length, 32)) << start

    def extended(x: int, n: int) -> int:
        if n == 0 or n >= 32:
            return x if n else 0
        x &= ones(n)
        return x - (1 << n) if x >> n - 1 else x

    values = grid([*edges(np.uint32), *AMOUNTS], AMOUNTS, dtypes=[np.uint32] * 2)
    models = {
        "bmsk.clamp.b32 {d}, {a}, {b};": mask,
        "bmsk.wrap.b32 {d}, {a}, {b};": lambda start, length: mask(start & 31, length & 31),
        "szext.clamp.u32 {d}, {a}, {b};": lambda x, n: x & ones(min(n, 32)),
        "szext.wrap.u32 {d}, {a}, {b};": wrapped(lambda x, n: x & ones(n)),
        "szext.clamp.s32 {d}, {a}, {b};": extended,
        "szext.wrap.s32 {d}, {a}, {b};": wrapped(extended),
    }
    against(models, values, np.uint32)


def test_fns() -> None:
    def model(mask: int, base: int, offset: int) -> int:
        if offset == -(2**31):
            return 0  # on an H200
        if offset == 0:
            return base if mask >> base & 1 else -1
        places = range(base, 32) if offset > 0 else range(base, -1, -1)
        found = [p for p in places if mask >> p & 1]
        return found[abs(offset) - 1] if abs(offset) <= len(found) else -1

    masks = [0, 1, 1 << 31, 0xFFFFFFFF, 0xAAAAAAAA, 0x80010001, 0x00F00F00]
    offsets = [0, 1, -1, 2, -2, 3, -3, 16, -16, 31, 32, -32, 33, 2**31 - 1, -(2**31)]
    values = grid(masks, [0, 1, 2, 3, 15, 16, 30, 31], offsets, dtypes=[np.uint32, np.uint32, np.int32])
    against({"fns.b32 {d}, {a}, {b}, {c};": model}, values, np.uint32)


# -- logic ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("width", [16, 32, 64])
def test_logic(width: int) -> None:
    dtype = np.dtype(f"u{width // 8}")
    models = {
        f"and.b{width} {{d}}, {{a}}, {{b}};": lambda x, y: x & y,
        f"or.b{width} {{d}}, {{a}}, {{b}};": lambda x, y: x | y,
        f"xor.b{width} {{d}}, {{a}}, {{b}};": lambda x, y: x ^ y,
        f"not.b{width} {{d}}, {{a}};": lambda x, y: ~x,
        f"cnot.b{width} {{d}}, {{a}};": lambda x, y: int(x == 0),
    }
    against(models, grid(edges(dtype), edges(dtype), dtypes=[dtype, dtype]), dtype)


def table(x: int, y: int, z: int, lut: int) -> int:
    return sum((lut >> (4 * (x >> i & 1) + 2 * (y >> i & 1) + (z >> i & 1)) & 1) << i for i in range(32))


def test_lop3_has_all_256_functions() -> None:
    # Bits 0–7 hold every combination of three bits, in one word per operand.
    inputs = [np.array([v, v], np.uint32) for v in (0xF0, 0xCC, 0xAA)]
    texts = [f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {lut};" for lut in range(256)]
    results = run_instructions(texts, inputs, np.uint32)
    assert [int(r[0]) & 0xFF for r in results] == list(range(256))
    assert [int(r[0]) >> 8 for r in results] == [0xFFFFFF * (lut & 1) for lut in range(256)]


def test_lop3_in_all_modes() -> None:
    models = {
        f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {lut};": lambda x, y, z, lut=lut: table(x, y, z, lut)
        for lut in (0x96, 0xE8, 0xCA, 0x01, 0xFE)
    }
    values = edges(np.uint32)[::3]
    against(models, grid(values, values, values, dtypes=[np.uint32] * 3), np.uint32)


def test_lop3_with_a_predicate() -> None:
    q, tail = "setp.ne.u32 %p0, {e}, 0;", "selp.u32 {d}, 1, 0, %p1;"
    models = {
        f"{q} lop3.or.b32 %t0|%p1, {{a}}, {{b}}, {{c}}, 0x80, %p0; {tail}": lambda x, y, z, c: bool(x & y & z) | c,
        f"{q} lop3.and.b32 _|%p1, {{a}}, {{b}}, {{c}}, 0x80, !%p0; {tail}": lambda x, y, z, c: bool(x & y & z) & ~c,
        f"{q} lop3.and.b32 {{d}}|%p1, {{a}}, {{b}}, {{c}}, 0x96, %p0;": lambda x, y, z, c: x ^ y ^ z,
    }
    against(models, grid([0, 1, 3], [0, 1, 5], [0, 1, 9], [0, 1], dtypes=[np.uint32] * 4), np.uint32)


# -- shifts -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("t", TYPES)
def test_shifts(t: str) -> None:
    width = int(t[1:])
    models = {f"shr.{t} {{d}}, {{a}}, {{b}};": lambda x, n: x >> min(n, 64)}
    if t[0] == "b":
        models[f"shl.{t} {{d}}, {{a}}, {{b}};"] = lambda x, n: x << n if n < width else 0
    for n in (0, 1, width - 1, width, width + 1, 2**32 - 1):
        models[f"shr.{t} {{d}}, {{a}}, {n};"] = lambda x, _, n=n: x >> min(n, 64)
    against(models, grid(edges(TYPES[t]), AMOUNTS, dtypes=[TYPES[t], np.uint32]), TYPES[t])


def test_funnel_shifts() -> None:
    def left(low: int, high: int, n: int) -> int:
        return (high << 32 | low) << n >> 32

    def right(low: int, high: int, n: int) -> int:
        return (high << 32 | low) >> n

    models = {
        "shf.l.wrap.b32 {d}, {a}, {b}, {c};": lambda a, b, n: left(a, b, n & 31),
        "shf.r.wrap.b32 {d}, {a}, {b}, {c};": lambda a, b, n: right(a, b, n & 31),
        "shf.l.clamp.b32 {d}, {a}, {b}, {c};": lambda a, b, n: left(a, b, min(n, 32)),
        "shf.r.clamp.b32 {d}, {a}, {b}, {c};": lambda a, b, n: right(a, b, min(n, 32)),
        "shf.l.wrap.b32 {d}, {a}, {b}, 5;": lambda a, b, n: left(a, b, 5),
    }
    values = edges(np.uint32)[::2]
    against(models, grid(values, values, AMOUNTS, dtypes=[np.uint32] * 3), np.uint32)


# -- prmt -------------------------------------------------------------------------------------------------------------
def permuted(a: int, b: int, selector: int) -> int:
    source = (b << 32 | a).to_bytes(8, "little")
    result = []
    for i in range(4):
        nibble = selector >> 4 * i & 15
        byte = source[nibble & 7]
        result.append(byte if nibble < 8 else 0xFF * (byte >> 7))
    return int.from_bytes(bytes(result), "little")


MODES = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}
"""The ISA's table: for each mode and value of c, the source of bytes 3 to 0."""


def test_prmt() -> None:
    selectors = [0x3210, 0x7654, 0x0123, 0xFEDC, 0x8888, 0x5A0F, 0xFFFF7777, 0xC840]
    models = {"prmt.b32 {d}, {a}, {b}, {c};": permuted}
    for s in selectors:
        models[f"prmt.b32 {{d}}, {{a}}, {{b}}, {s};"] = lambda a, b, _, s=s: permuted(a, b, s)
    words = [0x03020100, 0x87868584, 0x80FF7F01, 0]
    against(models, grid(words, words, selectors, dtypes=[np.uint32] * 3), np.uint32)


def test_prmt_modes() -> None:
    def model(mode: str) -> Callable[[int, int, int], int]:
        return lambda a, b, c: permuted(a, b, int(MODES[mode][c & 3], 16))

    models = {f"prmt.b32.{mode} {{d}}, {{a}}, {{b}}, {{c}};": model(mode) for mode in MODES}
    models |= {
        f"prmt.b32.{mode} {{d}}, {{a}}, {{b}}, {c};": lambda a, b, _, m=mode, c=c: model(m)(a, b, c)
        for mode in MODES
        for c in range(4)
    }
    against(models, grid([0x03020100, 0x83828180], [0x07060504], [0, 1, 2, 3, 6], dtypes=[np.uint32] * 3), np.uint32)
