"""Float formats as exact fractions: what a conversion must give, worked out without any floating-point arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np


@dataclass(frozen=True)
class Format:
    """An IEEE-like format: exponent bits, digits after the point, and the bits of its canonical NaN."""

    exponent: int
    digits: int
    nan: int

    @property
    def width(self) -> int:
        return 1 + self.exponent + self.digits

    @property
    def least(self) -> int:
        """The exponent of the smallest normal number."""
        return 2 - (1 << self.exponent - 1)

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.digits

    @cache  # noqa: B019  (formats live as long as the tests)
    def decode(self, bits: int) -> float | Fraction:
        """The value: a fraction, or a float for infinities, NaN and -0."""
        sign, magnitude = bits >> self.width - 1 & 1, bits & ((1 << self.width - 1) - 1)
        if magnitude > self.infinity:
            return math.nan
        if magnitude in (0, self.infinity):
            return math.copysign(math.inf if magnitude else 0.0, -1 if sign else 1)
        field, rest = magnitude >> self.digits, magnitude & ((1 << self.digits) - 1)
        digits = rest | (1 << self.digits if field else 0)
        return (-1) ** sign * digits * Fraction(2) ** (max(field, 1) + self.least - 1 - self.digits)

    def encode(self, value: float | Fraction, mode: str = "rn") -> int:
        """The bits of a value rounded by rn, rna (ties away), rz, rm or rp."""
        if isinstance(value, float) and math.isnan(value):
            return self.nan
        negative = math.copysign(1, value) < 0 if isinstance(value, float) else value < 0
        sign = int(negative) << self.width - 1
        if isinstance(value, float) and math.isinf(value):
            return sign | self.infinity
        size = abs(Fraction(value))
        if not size:
            return sign
        exponent = max(floor_log2(size), self.least)
        whole = rounded(size / Fraction(2) ** (exponent - self.digits), mode, negative)
        magnitude = (exponent - self.least << self.digits) + whole
        if magnitude < self.infinity:
            return sign | magnitude
        stops = mode == "rz" or (mode == "rm" and not negative) or (mode == "rp" and negative)
        return sign | self.infinity - stops


def floor_log2(value: Fraction) -> int:
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


def rounded(size: Fraction, mode: str, negative: bool = False) -> int:
    """The magnitude of a number rounded to a whole one."""
    whole, rest = divmod(size.numerator, size.denominator)
    twice = 2 * rest - size.denominator
    up = {
        "rz": False,
        "rm": negative and rest > 0,
        "rp": not negative and rest > 0,
        "rna": twice >= 0,
        "rn": twice > 0 or (twice == 0 and whole & 1 == 1),
    }[mode]
    return whole + up


def to_integer(value: float | Fraction, mode: str, low: int, high: int, nan: int) -> int:
    """A float converted to an integer within limits; `mode` is rni, rzi, rmi or rpi."""
    if isinstance(value, float):
        if math.isnan(value):
            return nan
        if math.isinf(value):
            return high if value > 0 else low
        value = Fraction(value)
    whole = rounded(abs(value), mode[:2], value < 0)
    return max(low, min(-whole if value < 0 else whole, high))


def integral(value: float | Fraction, mode: str) -> float | Fraction:
    """A float rounded to a whole number, as a float: -0.3 becomes -0."""
    if isinstance(value, float):
        return value
    whole = rounded(abs(value), mode[:2], value < 0)
    return math.copysign(0.0, value) if not whole else Fraction(-whole if value < 0 else whole)


FORMATS = {
    "f16": Format(5, 10, 0x7FFF),
    "bf16": Format(8, 7, 0x7FFF),
    "tf32": Format(8, 10, 0x3FFFF),
    "f32": Format(8, 23, 0x7FFFFFFF),
    "f64": Format(11, 52, 0x7FF8 << 48),
}


def interesting(of: str, *targets: str, seed: int = 3, count: int = 80) -> np.ndarray:
    """Bit patterns of a format: special values, random ones, and those next to and half-way between target values."""
    source, random = FORMATS[of], np.random.default_rng(seed)
    one = 1 << source.width - 1
    bits = {0, 1, source.infinity - 1, source.infinity, source.infinity + 1, source.nan, 1 << source.digits}
    bits |= {source.encode(Fraction(n, 4)) for n in (*range(20), 509, 510, 511, 514, 1021, 1022, 1023, 131071)}
    bits |= {source.encode(Fraction(2) ** n + d) for n in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1, 0, 1)}
    bits |= set(random.integers(0, one, count, np.uint64).tolist())
    for target in (FORMATS[t] for t in targets):
        for code in [*random.integers(0, target.infinity, count // 2).tolist(), 0, 1, target.infinity - 1]:
            low, high = target.decode(code), target.decode(code + 1)
            if high == math.inf:
                high = 2 * Fraction(low) - Fraction(target.decode(code - 1))
            middle = source.encode((Fraction(low) + Fraction(high)) / 2)
            bits |= {middle, max(middle - 1, 0), min(middle + 1, source.infinity), source.encode(low)}
    both = sorted(bits | {b | one for b in bits})
    return np.array(both, f"u{source.width // 8}")
