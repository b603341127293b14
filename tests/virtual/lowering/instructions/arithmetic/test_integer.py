"""Integer arithmetic against Python's integers: every opcode, type and modifier, varying, uniform and guarded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_programs import against, edges, grid, run_instructions

TYPES = {f"{s}{w}": np.dtype(f"{'i' if s == 's' else 'u'}{w // 8}") for s in "su" for w in (16, 32, 64)}
DOUBLE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
RANDOM = np.random.default_rng(7)


def width(t: str) -> int:
    return int(t[1:])


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def clamp(value: int, bits: int) -> int:
    return max(-(1 << bits - 1), min(value, (1 << bits - 1) - 1))


def pairs(t: str) -> list[np.ndarray]:
    """Two operands: all pairs of edge values, and random ones of all sizes."""
    dtype = TYPES[t]
    x, y = grid(edges(dtype), edges(dtype), dtypes=[dtype, dtype])
    noise = RANDOM.integers(0, 2**63, (2, 100), np.uint64) >> RANDOM.integers(0, width(t), (2, 100), np.uint64)
    return [np.concatenate([a, n.astype(dtype)]) for a, n in zip((x, y), noise, strict=True)]


def triples(t: str, third: str) -> list[np.ndarray]:
    x, y = pairs(t)
    values = np.array(edges(TYPES[third]), TYPES[third])
    return [x, y, RANDOM.choice(values, len(x))]


def quotient(x: int, y: int) -> int:
    """Truncated division; all ones by zero."""
    if not y:
        return -1
    return abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)


def remainder(x: int, y: int) -> int:
    return x - quotient(x, y) * y if y else x


@pytest.mark.parametrize("t", TYPES)
def test_sums_products_quotients_and_extremes(t: str) -> None:
    w = width(t)
    models = {
        f"add.{t} {{d}}, {{a}}, {{b}};": lambda x, y: x + y,
        f"sub.{t} {{d}}, {{a}}, {{b}};": lambda x, y: x - y,
        f"mul.lo.{t} {{d}}, {{a}}, {{b}};": lambda x, y: x * y,
        f"mul.hi.{t} {{d}}, {{a}}, {{b}};": lambda x, y: x * y >> w,
        f"min.{t} {{d}}, {{a}}, {{b}};": min,
        f"max.{t} {{d}}, {{a}}, {{b}};": max,
        f"div.{t} {{d}}, {{a}}, {{b}};": quotient,
        f"rem.{t} {{d}}, {{a}}, {{b}};": remainder,
    }
    if t[0] == "s":
        models |= {f"abs.{t} {{d}}, {{a}};": lambda x, y: abs(x), f"neg.{t} {{d}}, {{a}};": lambda x, y: -x}
    against(models, pairs(t), TYPES[t])


@pytest.mark.parametrize("t", TYPES)
def test_products_with_a_third_operand(t: str) -> None:
    w = width(t)
    models = {
        f"mad.lo.{t} {{d}}, {{a}}, {{b}}, {{c}};": lambda x, y, z: x * y + z,
        f"mad.hi.{t} {{d}}, {{a}}, {{b}}, {{c}};": lambda x, y, z: (x * y >> w) + z,
        f"sad.{t} {{d}}, {{a}}, {{b}}, {{c}};": lambda x, y, z: z + abs(x - y),
    }
    against(models, triples(t, t), TYPES[t])


@pytest.mark.parametrize("t", DOUBLE)
def test_wide_products(t: str) -> None:
    models = {
        f"mul.wide.{t} {{d}}, {{a}}, {{b}};": lambda x, y, z: x * y,
        f"mad.wide.{t} {{d}}, {{a}}, {{b}}, {{c}};": lambda x, y, z: x * y + z,
    }
    against(models, triples(t, DOUBLE[t]), TYPES[DOUBLE[t]])


def test_saturating_sums() -> None:
    models = {
        "add.sat.s32 {d}, {a}, {b};": lambda x, y, z: clamp(x + y, 32),
        "sub.sat.s32 {d}, {a}, {b};": lambda x, y, z: clamp(x - y, 32),
        "mad.hi.sat.s32 {d}, {a}, {b}, {c};": lambda x, y, z: clamp((x * y >> 32) + z, 32),
        "min.relu.s32 {d}, {a}, {b};": lambda x, y, z: max(0, min(x, y)),
        "max.relu.s32 {d}, {a}, {b};": lambda x, y, z: max(0, x, y),
    }
    against(models, triples("s32", "s32"), np.int32)


@pytest.mark.parametrize("t", ["u32", "s32"])
def test_24_bit_products(t: str) -> None:
    def low(x: int) -> int:
        return signed(x, 24) if t == "s32" else x & 0xFFFFFF

    models = {
        f"mul24.lo.{t} {{d}}, {{a}}, {{b}};": lambda x, y, z: low(x) * low(y),
        f"mul24.hi.{t} {{d}}, {{a}}, {{b}};": lambda x, y, z: low(x) * low(y) >> 16,
        f"mad24.lo.{t} {{d}}, {{a}}, {{b}}, {{c}};": lambda x, y, z: low(x) * low(y) + z,
        f"mad24.hi.{t} {{d}}, {{a}}, {{b}}, {{c}};": lambda x, y, z: (low(x) * low(y) >> 16) + z,
    }
    if t == "s32":
        models["mad24.hi.sat.s32 {d}, {a}, {b}, {c};"] = lambda x, y, z: clamp((low(x) * low(y) >> 16) + z, 32)
    against(models, triples(t, t), TYPES[t])


def halves(word: int, is_signed: bool) -> tuple[int, int]:
    parts = word & 0xFFFF, word >> 16 & 0xFFFF
    return tuple(signed(p, 16) for p in parts) if is_signed else parts  # type: ignore[return-value]


@pytest.mark.parametrize("t", ["u16x2", "s16x2"])
def test_packed_halves(t: str) -> None:
    def each(function):  # type: ignore[no-untyped-def]
        def model(x: int, y: int) -> int:
            pair = zip(halves(x, t[0] == "s"), halves(y, t[0] == "s"), strict=True)
            low, high = (function(a, b) & 0xFFFF for a, b in pair)
            return low | high << 16

        return model

    models = {
        f"add.{t} {{d}}, {{a}}, {{b}};": each(lambda x, y: x + y),
        f"min.{t} {{d}}, {{a}}, {{b}};": each(min),
        f"max.{t} {{d}}, {{a}}, {{b}};": each(max),
    }
    if t == "s16x2":
        models[f"min.relu.{t} {{d}}, {{a}}, {{b}};"] = each(lambda x, y: max(0, min(x, y)))
        models[f"max.relu.{t} {{d}}, {{a}}, {{b}};"] = each(lambda x, y: max(0, x, y))
    x, y = grid(*[edges(np.uint16)] * 2, dtypes=[np.uint32] * 2)
    against(models, [x | np.roll(y, 3) << np.uint32(16), y | np.roll(x, 5) << np.uint32(16)], np.uint32)


# -- division ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 10, 64, 641, -1, -2, -7, 2**31 - 1, -(2**31), 0])
def test_division_by_a_constant(divisor: int) -> None:
    values = [np.array(edges(np.int32), np.int32)]
    against(
        {f"div.s32 {{d}}, {{a}}, {divisor};": lambda x: quotient(x, divisor),
         f"rem.s32 {{d}}, {{a}}, {divisor};": lambda x: remainder(x, divisor)},
        values, np.int32,
    )  # fmt: skip
    positive = divisor & 0xFFFFFFFF
    against(
        {f"div.u32 {{d}}, {{a}}, {positive};": lambda x: quotient(x, positive),
         f"rem.u32 {{d}}, {{a}}, {positive};": lambda x: remainder(x, positive)},
        [np.array(edges(np.uint32), np.uint32)], np.uint32,
    )  # fmt: skip
    against(
        {f"div.s64 {{d}}, {{a}}, {divisor};": lambda x: quotient(x, divisor),
         f"rem.s64 {{d}}, {{a}}, {divisor};": lambda x: remainder(x, divisor)},
        [np.array(edges(np.int64), np.int64)], np.int64,
    )  # fmt: skip


def near_multiples(dtype: np.dtype, count: int, width: int) -> list[np.ndarray]:
    """Dividends one below, at and one above multiples of the divisor: where a rounded quotient would go wrong."""
    most = (1 << width - (dtype.kind == "i")) - 1
    rows = []
    for _ in range(count):
        divisor = max(1, int(RANDOM.integers(0, most, endpoint=True, dtype=dtype)) >> int(RANDOM.integers(0, width)))
        times = int(RANDOM.integers(0, most // divisor, endpoint=True, dtype=dtype))
        rows.append((min(most, max(0, times * divisor + int(RANDOM.integers(-1, 2)))), divisor))
        if dtype.kind == "i" and len(rows) % 2:
            rows[-1] = (-rows[-1][0], divisor if len(rows) % 3 else -divisor)
    return [np.array(column, dtype) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize(("t", "bits"), [("u32", 32), ("s32", 32), ("u64", 64), ("s64", 64), ("u64", 50), ("s64", 50)])
def test_quotients_next_to_whole_numbers(t: str, bits: int) -> None:
    x, y = near_multiples(TYPES[t], 2048, bits)
    (got,) = run_instructions([f"div.{t} {{d}}, {{a}}, {{b}};"], [x, y], TYPES[t])
    wanted = [quotient(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert got.tolist() == wanted


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=32))
def test_quotient_times_divisor_plus_remainder_is_the_dividend(rows: list[tuple[int, int]]) -> None:
    x, y = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    text = "div.s64 %w0, {a}, {b}; rem.s64 %w1, {a}, {b}; mad.lo.s64 {d}, %w0, {b}, %w1;"
    assert run_instructions([text], [x, y], np.int64)[0].tolist() == x.tolist()


def test_division_in_lanes_that_are_off_does_not_fault() -> None:
    x = np.full(64, -(2**63), np.int64)
    y = np.where(np.arange(64) % 2 == 0, 0, -1)
    for uniform in (False, True):
        texts = ["div.s64 {d}, {a}, {b};", "rem.u64 {d}, {a}, {b};"]
        run_instructions(texts, [x, y], np.int64, guarded=True, uniform=uniform)


# -- carries ----------------------------------------------------------------------------------------------------------
def limbs(values: list[int], count: int) -> list[np.ndarray]:
    return [np.array([v >> 32 * i & 0xFFFFFFFF for v in values], np.uint32) for i in range(count)]


@pytest.mark.parametrize("t", ["u32", "s32"])
def test_carry_runs_through_a_128_bit_sum_and_difference(t: str) -> None:
    values = [0, 1, 2**64 - 1, 2**128 - 1, 2**96, 2**32 - 1, 2**127, 0x0123456789ABCDEF_FEDCBA9876543210]
    x, y = [a for a in values for _ in values], values * len(values)
    low = limbs([v & (2**64 - 1) for v in x], 2) + limbs([v & (2**64 - 1) for v in y], 2)
    sums = {
        f"add.cc.{t} {{d}}, {{a}}, {{c}};": lambda a, b, c, d: a + c,
        f"add.cc.{t} %t0, {{a}}, {{c}}; addc.{t} {{d}}, {{b}}, {{e}};": lambda a, b, c, d: b + d + (a + c >> 32),
        f"add.cc.{t} %t0, {{a}}, {{c}}; addc.cc.{t} %t1, {{b}}, {{e}}; addc.{t} {{d}}, 0, 0;": (
            lambda a, b, c, d: (b << 32 | a) + (d << 32 | c) >> 64
        ),
        f"sub.cc.{t} {{d}}, {{a}}, {{c}};": lambda a, b, c, d: a - c,
        f"sub.cc.{t} %t0, {{a}}, {{c}}; subc.{t} {{d}}, {{b}}, {{e}};": lambda a, b, c, d: b - d - (a < c),
        f"sub.cc.{t} %t0, {{a}}, {{c}}; subc.cc.{t} %t1, {{b}}, {{e}}; subc.{t} {{d}}, 0, 0;": (
            lambda a, b, c, d: -((b << 32 | a) < (d << 32 | c))
        ),
    }
    against(sums, low, np.uint32)


def test_64_bit_carries() -> None:
    inputs = pairs("u64")
    models = {
        "add.cc.u64 %w0, {a}, {b}; addc.u64 {d}, {a}, 0;": lambda x, y: x + (x + y >> 64),
        "sub.cc.u64 %w0, {a}, {b}; subc.u64 {d}, {a}, 0;": lambda x, y: x - (x < y),
        "mad.lo.cc.u64 %w0, {a}, {b}, {a}; madc.hi.u64 {d}, {a}, {b}, {b};": lambda x, y: (x * y + x >> 64) + y,
    }
    against(models, inputs, np.uint64)


def test_multiply_add_with_carry() -> None:
    def long(x: int, y: int, z: int) -> int:
        return (x * y & 0xFFFFFFFF) + z >> 32

    models = {
        "mad.lo.cc.u32 {d}, {a}, {b}, {c};": lambda x, y, z: x * y + z,
        "mad.lo.cc.u32 %t0, {a}, {b}, {c}; madc.hi.u32 {d}, {a}, {b}, {c};": (
            lambda x, y, z: (x * y >> 32) + z + long(x, y, z)
        ),
        "mad.lo.cc.u32 %t0, {a}, {b}, {c}; madc.hi.cc.u32 %t1, {a}, {b}, {c}; addc.u32 {d}, 0, 0;": (
            lambda x, y, z: (x * y >> 32) + z + long(x, y, z) >> 32
        ),
        "mad.lo.cc.u32 %t0, {a}, {b}, {c}; madc.lo.u32 {d}, {a}, {b}, {c};": lambda x, y, z: x * y + z + long(x, y, z),
    }
    against(models, triples("u32", "u32"), np.uint32)


def test_lanes_that_are_off_keep_their_carry() -> None:
    """All lanes set the carry, the even ones clear it, then all read it."""
    lane = np.arange(32, dtype=np.uint32)
    text = "add.cc.u32 %t0, 0xffffffff, 1; and.b32 %t1, {a}, 1; setp.eq.u32 %p0, %t1, 0; @%p0 add.cc.u32 %t0, 0, 0;"
    (got,) = run_instructions([text + "addc.u32 {d}, 0, 0;"], [lane], np.uint32)
    assert got.tolist() == (lane & 1).tolist()


def test_a_branch_leaves_the_carry_of_the_lanes_that_skip_it() -> None:
    lane = np.arange(32, dtype=np.uint32)
    text = (
        "add.cc.u32 %t0, 0xffffffff, {a}; setp.gt.u32 %p0, {a}, 7; @%p0 bra SKIP; add.cc.u32 %t0, 0, 0;"
        "SKIP: addc.u32 {d}, 0, 0;"
    )
    assert run_instructions([text], [lane], np.uint32)[0].tolist() == (lane > 7).tolist()


# -- dot products -----------------------------------------------------------------------------------------------------
def fields(word: int, size: int, is_signed: bool) -> list[int]:
    parts = [word >> size * i & ((1 << size) - 1) for i in range(32 // size)]
    return [signed(p, size) for p in parts] if is_signed else parts


@pytest.mark.parametrize("a_type", ["u32", "s32"])
@pytest.mark.parametrize("b_type", ["u32", "s32"])
def test_dot_products(a_type: str, b_type: str) -> None:
    def dot(size: int, first: int):  # type: ignore[no-untyped-def]
        def model(x: int, y: int, z: int) -> int:
            others = fields(y, 8, b_type == "s32")[first:]
            return z + sum(p * q for p, q in zip(fields(x, size, a_type == "s32"), others, strict=False))

        return model

    models = {
        f"dp4a.{a_type}.{b_type} {{d}}, {{a}}, {{b}}, {{c}};": dot(8, 0),
        f"dp2a.lo.{a_type}.{b_type} {{d}}, {{a}}, {{b}}, {{c}};": dot(16, 0),
        f"dp2a.hi.{a_type}.{b_type} {{d}}, {{a}}, {{b}}, {{c}};": dot(16, 2),
    }
    against(models, triples("u32", "u32"), np.uint32)
