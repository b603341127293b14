"""cvt to packed halves, tf32 and 8-bit floats, with .relu and .satfinite, against exact fractions."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from exact_formats import FORMATS, Format, interesting
from ptx_programs import against

Model = Callable[..., int]


# -- packed halves, tf32 ----------------------------------------------------------------------------------------------
def finished(bits: int, target: Format, relu: bool, finite: bool) -> int:
    top = 1 << target.width - 1
    if bits == target.nan:
        return bits
    if finite and bits & (top - 1) == target.infinity:
        bits -= 1
    return 0 if relu and bits & top else bits


SUFFIXES = {"": (False, False), ".relu": (True, False), ".satfinite": (False, True), ".relu.satfinite": (True, True)}


@pytest.mark.parametrize("to", ["f16", "bf16"])
@pytest.mark.parametrize("mode", ["rn", "rz"])
def test_f32_to_halves_limited_and_packed(to: str, mode: str) -> None:
    source, target = FORMATS["f32"], FORMATS[to]

    def one(x: int, how: tuple[bool, bool]) -> int:
        return finished(target.encode(source.decode(x), mode), target, *how)

    single: dict[str, Model] = {
        f"cvt.{mode}{suffix}.{to}.f32 {{d}}, {{a}};": lambda x, y, how=how: one(x, how)
        for suffix, how in SUFFIXES.items()
    }
    packed: dict[str, Model] = {
        f"cvt.{mode}{suffix}.{to}x2.f32 {{d}}, {{a}}, {{b}};": lambda x, y, how=how: one(x, how) << 16 | one(y, how)
        for suffix, how in SUFFIXES.items()
    }
    x = interesting("f32", to, count=40)
    inputs = [x, np.roll(x, 17)]
    against(single, inputs, np.uint16)
    against(packed, inputs, np.uint32)


@pytest.mark.parametrize("mode", ["rna", "rn", "rz"])
def test_tf32(mode: str) -> None:
    source, target = FORMATS["f32"], FORMATS["tf32"]

    def model(x: int, how: tuple[bool, bool]) -> int:
        bits = finished(target.encode(source.decode(x), mode), target, *how)
        return 0x7FFFFFFF if bits == target.nan else bits << 13

    suffixes = {"": SUFFIXES[""]} if mode == "rna" else {s: SUFFIXES[s] for s in SUFFIXES if "satfinite" not in s}
    models: dict[str, Model] = {
        f"cvt.{mode}{s}.tf32.f32 {{d}}, {{a}};": lambda x, how=how: model(x, how) for s, how in suffixes.items()
    }
    against(models, [interesting("f32", "tf32")], np.uint32)


# -- 8-bit floats -----------------------------------------------------------------------------------------------------
def decoded8(kind: str, code: int) -> float | Fraction:
    """The value of an e4m3 or e5m2 code; e4m3 has no infinity, and one NaN."""
    if kind == "e5m2":
        return FORMATS["f16"].decode(code << 8)
    sign, field, rest = code >> 7, code >> 3 & 15, code & 7
    if code & 0x7F == 0x7F:
        return math.nan
    value = (rest + (8 if field else 0)) * Fraction(2) ** (max(field, 1) - 10)
    return -value if sign and value else math.copysign(0.0, -1) if sign and not value else Fraction(value)


def encoded8(kind: str, value: float | Fraction, relu: bool) -> int:
    """The nearest code by search, ties to the even code, limited to the largest finite one."""
    if isinstance(value, float) and math.isnan(value):
        return 0x7F
    negative = math.copysign(1, value) < 0 if isinstance(value, float) else value < 0
    if negative and relu:
        return 0
    last = 0x7E if kind == "e4m3" else 0x7B
    size = abs(value)
    above = bisect_left(TABLE[kind], size)
    nearest = min({max(above - 1, 0), min(above, last)}, key=lambda c: (abs(TABLE[kind][c] - size), c & 1))
    return (last if math.isinf(size) else nearest) | negative << 7


TABLE = {kind: [Fraction(decoded8(kind, c)) for c in range(last)] for kind, last in (("e4m3", 0x7F), ("e5m2", 0x7C))}


@pytest.mark.parametrize("kind", TABLE)
def test_f32_to_8_bit_floats(kind: str) -> None:
    f32 = FORMATS["f32"]
    middles = [(p + q) / 2 for p, q in pairwise(TABLE[kind])]
    near = [f32.encode(m) + d for m in middles for d in (-1, 0, 1)] + [f32.encode(v) for v in TABLE[kind]]
    random = np.random.default_rng(5).integers(0, 2**31, 64).tolist()
    bits = [0, 1, 0x7F800000, 0x7FC00000, f32.encode(Fraction(464)), f32.encode(Fraction(61440)), *near, *random]
    x = np.array([*bits, *(b | 1 << 31 for b in bits)], np.uint32)
    models: dict[str, Model] = {
        f"cvt.rn.satfinite{s}.{kind}x2.f32 {{d}}, {{a}}, {{b}};": lambda p, q, relu=bool(s): (
            encoded8(kind, f32.decode(p), relu) << 8 | encoded8(kind, f32.decode(q), relu)
        )
        for s in ("", ".relu")
    }
    against(models, [x, np.roll(x, 3)], np.uint16)


@pytest.mark.parametrize("kind", TABLE)
def test_halves_to_8_bit_floats_and_back(kind: str) -> None:
    f16 = FORMATS["f16"]
    x = interesting("f16").astype(np.uint32)
    models: dict[str, Model] = {
        f"cvt.rn.satfinite.{kind}x2.f16x2 {{d}}, {{a}};": lambda p: (
            encoded8(kind, f16.decode(p >> 16), False) << 8 | encoded8(kind, f16.decode(p & 0xFFFF), False)
        )
    }
    against(models, [x | np.roll(x, 5) << np.uint32(16)], np.uint16)
    codes = np.arange(256, dtype=np.uint16)
    back: dict[str, Model] = {
        f"cvt.rn{s}.f16x2.{kind}x2 {{d}}, {{a}};": lambda p, relu=bool(s): (
            finished(f16.encode(decoded8(kind, p >> 8)), f16, relu, False) << 16
            | finished(f16.encode(decoded8(kind, p & 0xFF)), f16, relu, False)
        )
        for s in ("", ".relu")
    }
    against(back, [codes | np.roll(codes, 77) << np.uint16(8)], np.uint32)
