"""Hopper's tensor cores in Python integers, written from their published description; slow, and exact by construction.

A finite number is (integer, weight): integer · 2^weight. Sources: Khattak and Mikaitis, "Accurate Models of NVIDIA
Tensor Cores" (2025); Xie et al., "MMA-Sim" (2025); for 8-bit floats and wmma's tf32 the machine code of ptxas.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

F32_NAN, F16_NAN = 0x7FFFFFFF, 0x7FFF

DIGITS = 25
"""Digits behind the point that a term keeps."""


@dataclass(frozen=True)
class Layout:
    """Exponent and mantissa bits of a float; `finite`: the topmost exponent holds numbers, too, and one NaN (e4m3)."""

    exponent: int
    mantissa: int
    finite: bool = False

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def size(self) -> int:
        return 1 + self.exponent + self.mantissa


FORMATS = {
    "f16": Layout(5, 10), "bf16": Layout(8, 7), "tf32": Layout(8, 23), "f32": Layout(8, 23), "f64": Layout(11, 52),
    "e4m3": Layout(4, 3, finite=True), "e5m2": Layout(5, 2),
}  # fmt: skip


@dataclass(frozen=True)
class Number:
    """A decoded float; `special` is nan, inf, -inf or empty; `exponent` is what it is aligned by."""

    value: int
    weight: int
    exponent: int
    special: str = ""

    @property
    def float(self) -> float:
        return float(self.special) if self.special else math.ldexp(self.value, self.weight)


def decode(bits: int, name: str) -> Number:
    """A float's bits; tf32 loses its lowest 13, an 8-bit float is aligned as the half it becomes."""
    kind = FORMATS[name]
    if name == "tf32":
        bits &= ~0x1FFF
    top = (1 << kind.exponent) - 1
    field, mantissa = bits >> kind.mantissa & top, bits & (1 << kind.mantissa) - 1
    sign = -1 if bits >> kind.size - 1 & 1 else 1
    if kind.finite and field == top and mantissa == (1 << kind.mantissa) - 1:
        return Number(0, 0, 0, "nan")
    if not kind.finite and field == top:
        return Number(0, 0, 0, "nan" if mantissa else "inf" if sign > 0 else "-inf")
    exponent = max(field, 1) - kind.bias
    value = mantissa + ((1 << kind.mantissa) if field else 0)
    weight = exponent - kind.mantissa
    if kind.size == 8 and value:
        exponent = max(weight + value.bit_length() - 1, -14)
    return Number(sign * value, weight, exponent if value else -126)


def cut(value: int, by: int) -> int:
    """value · 2^by toward zero."""
    size = abs(value) << by if by >= 0 else abs(value) >> -by
    return -size if value < 0 else size


def to_f32_toward_zero(value: int, weight: int, digits: int = 23) -> int:
    """Bits, of whose mantissa only `digits` are kept; too large is infinite."""
    sign, size = (1 << 31 if value < 0 else 0), abs(value)
    if not size:
        return 0
    exponent = max(weight + size.bit_length() - 1, -126)
    mantissa = cut(size, weight - exponent + digits) << 23 - digits
    if exponent > 127:
        return sign | 0x7F800000
    return sign | (mantissa + ((exponent + 126) << 23) if mantissa >> 23 else mantissa)


def to_f16_nearest(value: int, weight: int) -> int:
    """Bits, ties to even; too large is infinite, and what rounds to zero is +0."""
    sign, size = (1 << 15 if value < 0 else 0), abs(value)
    if not size:
        return 0
    exponent = max(weight + size.bit_length() - 1, -14)
    by = weight - exponent + 10
    mantissa = cut(size, by)
    if by < 0:
        rest, half = size - (mantissa << -by), 1 << -by - 1
        mantissa += rest > half or (rest == half and mantissa & 1)
    code = mantissa + ((exponent + 14) << 10)  # a carry moves into the exponent by itself
    return sign | min(code, 0x7C00) if code else 0


def step(a: Sequence[Number], b: Sequence[Number], c: Number, *, half: bool, digits: int = DIGITS) -> int:
    """One fused sum: the bits of an f16 or f32, whose mantissa has no more digits than the terms keep."""
    special = _special(a, b, c)
    if special:
        if special == "nan":
            return F16_NAN if half else F32_NAN
        infinity = 0x7C00 if half else 0x7F800000
        return infinity | ((1 << (15 if half else 31)) if special == "-inf" else 0)
    terms = [(x.value * y.value, x.weight + y.weight, x.exponent + y.exponent) for x, y in zip(a, b, strict=True)]
    terms = [(v, w, e if v else -126) for v, w, e in [*terms, (c.value, c.weight, c.exponent)]]
    last = max(e for _, _, e in terms) - digits
    total = sum(cut(v, w - last) for v, w, _ in terms)
    return to_f16_nearest(total, last) if half else to_f32_toward_zero(total, last, min(digits, 23))


def _special(a: Sequence[Number], b: Sequence[Number], c: Number) -> str:
    """nan, inf, -inf, or empty where every term is finite."""
    found = {c.special}
    for x, y in zip(a, b, strict=True):
        if not (x.special or y.special):
            continue
        if "nan" in (x.special, y.special) or (not x.special and not x.value) or (not y.special and not y.value):
            return "nan"
        negative = (x.float < 0) != (y.float < 0)
        found.add("-inf" if negative else "inf")
    if "nan" in found or {"inf", "-inf"} <= found:
        return "nan"
    return next(iter(found - {""}), "")


def _added(x: int, y: int, *, half: bool) -> int:
    """The ordinary sum of two floats' bits, through f64, where it is exact or rounds to the same."""
    bits, kind, nan = (np.uint16, np.float16, F16_NAN) if half else (np.uint32, np.float32, F32_NAN)
    with np.errstate(over="ignore", invalid="ignore"):
        first, second = np.array([x, y], bits).view(kind).astype(np.float64)
        total = np.array([first + second]).astype(kind)
    return nan if np.isnan(total[0]) else int(total.view(bits)[0])


def floats(a: np.ndarray, b: np.ndarray, c: np.ndarray, types: tuple[str, str, str, str], split: int) -> np.ndarray:
    """D's bits of one matrix product given as bits: a (m, k), b (k, n), c (m, n); types of d, a, b, c."""
    half = types[0] == types[3] == "f16"
    left = [[decode(int(x), types[1]) for x in row] for row in a]
    right = [[decode(int(x), types[2]) for x in column] for column in b.T]
    steps = list(_steps(a.shape[1], types[1], split))
    result = np.zeros(c.shape, np.uint32)
    for i, j in np.ndindex(c.shape):
        addend, kind = int(c[i, j]), types[3]
        late = types[1] in ("e4m3", "e5m2")
        if kind == "f16" and not half:
            addend, kind = _f32_of(addend), "f32"
        total = 0 if late else addend
        for ks in steps:
            total = step([left[i][k] for k in ks], [right[j][k] for k in ks], decode(total, kind), half=half)
        if late:
            total = _added(addend, total, half=half)
        result[i, j] = _f16_of(total) if types[0] == "f16" and not half else total
    return result


def _f32_of(bits: int) -> int:
    value = np.uint16(bits).view(np.float16).astype(np.float32)
    return int(value.view(np.uint32))


def _f16_of(bits: int) -> int:
    with np.errstate(over="ignore"):
        value = np.uint32(bits).view(np.float32).astype(np.float16)
    return F16_NAN if np.isnan(value) else int(value.view(np.uint16))


def _steps(k: int, kind: str, split: int) -> Iterator[list[int]]:
    if kind in ("e4m3", "e5m2"):
        yield [i for i in range(k) if i % 4 < 2]
        yield [i for i in range(k) if i % 4 >= 2]
    else:
        for start in range(0, k, split or k):
            yield list(range(start, min(start + (split or k), k)))


def integers(a: np.ndarray, b: np.ndarray, c: np.ndarray, rule: str) -> np.ndarray:
    """Integers, exactly; bits with rule and or xor, whose ones are counted."""
    if rule in ("and", "xor"):
        joined = a[:, :, None] & b[None] if rule == "and" else a[:, :, None] ^ b[None]
        total = joined.sum(1).astype(np.int64) + c
    else:
        total = a.astype(np.int64) @ b.astype(np.int64) + c
    if rule == "satfinite":
        total = total.clip(-(2**31), 2**31 - 1)
    return (total & 0xFFFFFFFF).astype(np.uint32)


def doubles(a: np.ndarray, b: np.ndarray, c: np.ndarray, mode: str) -> np.ndarray:
    """A chain of fused multiply-adds over k, each rounded once, of finite numbers given as bits; mode rz, rm or rp."""
    x, y, total = (m.view(np.float64) for m in (a, b, c.copy()))
    for i, j in np.ndindex(c.shape):
        for k in range(x.shape[1]):
            exact = Fraction(x[i, k]) * Fraction(y[k, j]) + Fraction(total[i, j])
            total[i, j] = _rounded(exact, mode)
    return total.view(np.uint64)


def _rounded(exact: Fraction, mode: str) -> float:
    """The conversion rounds to nearest; a step where that went the wrong way."""
    near = float(exact)
    away = {"rz": abs(Fraction(near)) > abs(exact), "rm": Fraction(near) > exact, "rp": Fraction(near) < exact}
    if not away.get(mode, False):
        return near
    return math.nextafter(near, {"rz": 0.0, "rm": -math.inf, "rp": math.inf}[mode])
