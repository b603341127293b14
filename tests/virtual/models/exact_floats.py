"""IEEE 754 arithmetic by exact fractions, in any format and rounding: the model that the floating families are held to.

Numbers are Python floats, which hold every value of f32, f64, f16 and bf16; NaN stands for any NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np


@dataclass(frozen=True)
class Format:
    """A binary format: significand digits, exponent of the smallest subnormal, bits in all."""

    digits: int
    lowest: int
    bits: int

    @property
    def highest(self) -> Fraction:
        """The largest finite number."""
        top = 3 - self.lowest - self.digits  # 2^top is the first power of two beyond the range
        return Fraction(2**self.digits - 1) * Fraction(2) ** (top - self.digits)

    @property
    def tiny(self) -> Fraction:
        """The smallest normal number."""
        return Fraction(2) ** (self.lowest + self.digits - 1)


F32, F64 = Format(24, -149, 32), Format(53, -1074, 64)
F16, BF16 = Format(11, -24, 16), Format(8, -133, 16)


def rounded(x: Fraction, form: Format, mode: str = "rn") -> float:
    """A number other than zero in a format; rn to nearest even, rz toward zero, rm down, rp up."""
    size, sign = abs(x), -1.0 if x < 0 else 1.0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    quantum = Fraction(2) ** max(exponent - form.digits + 1, form.lowest)
    whole, rest = divmod(size, quantum)
    up = {"rn": rest * 2 > quantum or (rest * 2 == quantum and whole % 2 == 1), "rz": False,
          "rm": rest > 0 and sign < 0, "rp": rest > 0 and sign > 0}[mode]  # fmt: skip
    result = (whole + up) * quantum
    if result > form.highest:
        outward = mode == "rn" or mode == ("rp" if sign > 0 else "rm")
        return sign * (math.inf if outward else float(form.highest))
    return math.copysign(float(result), sign)


def _sum(terms: list[float], exact: Fraction, form: Format, mode: str) -> float:
    """A sum whose exact value is known. A zero sum of unlike zeros or of opposites is +0, rounding down -0."""
    if exact:
        return rounded(exact, form, mode)
    signs = {math.copysign(1, t) for t in terms}
    if len(signs) == 1:
        return math.copysign(0.0, signs.pop())
    return -0.0 if mode == "rm" else 0.0


def add(form: Format, mode: str, x: float, y: float) -> float:
    if not (math.isfinite(x) and math.isfinite(y)):
        return x + y
    return _sum([x, y], Fraction(x) + Fraction(y), form, mode)


def sub(form: Format, mode: str, x: float, y: float) -> float:
    return add(form, mode, x, -y)


def mul(form: Format, mode: str, x: float, y: float) -> float:
    if not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0:
        return x * y
    return rounded(Fraction(x) * Fraction(y), form, mode)


def div(form: Format, mode: str, x: float, y: float) -> float:
    sign = math.copysign(1, x) * math.copysign(1, y)
    if math.isnan(x) or math.isnan(y) or (x == 0 and y == 0) or (math.isinf(x) and math.isinf(y)):
        return math.nan
    if math.isinf(x) or y == 0:
        return sign * math.inf
    if x == 0 or math.isinf(y):
        return sign * 0.0
    return rounded(Fraction(x) / Fraction(y), form, mode)


def fma(form: Format, mode: str, x: float, y: float, z: float) -> float:
    if not all(map(math.isfinite, (x, y, z))):
        product = x * y if not (math.isfinite(x) and math.isfinite(y)) else 0.0
        return product + z
    sign = math.copysign(1, x) * math.copysign(1, y)
    return _sum([math.copysign(1, sign), z], Fraction(x) * Fraction(y) + Fraction(z), form, mode)


def sqrt(form: Format, mode: str, x: float) -> float:
    if math.isnan(x) or x < 0:
        return math.nan
    if x == 0 or math.isinf(x):
        return x
    value, scale = Fraction(x), 300 + 2 * abs(form.lowest)
    scaled = value * 4**scale
    root = math.isqrt(scaled.numerator // scaled.denominator)
    # A root that is not exact lies strictly between two neighbours far finer than the format: stand in the middle.
    exact = root * root == scaled
    return rounded((Fraction(root) + (0 if exact else Fraction(1, 2))) / 2**scale, form, mode)


def rcp(form: Format, mode: str, x: float) -> float:
    return div(form, mode, 1.0, x)


def flush(form: Format, x: float) -> float:
    """Subnormal numbers as zeros of their sign."""
    return math.copysign(0.0, x) if 0 < abs(x) < float(form.tiny) else x


def saturate(x: float) -> float:
    """Clamped to [0, 1], NaN and -0 to +0."""
    return 0.0 if math.isnan(x) or x <= 0 else min(x, 1.0)


def _underflows(operation: Callable[..., float], form: Format, mode: str, operands: Sequence[float]) -> bool:
    """True where a product is subnormal if rounded as though exponents had no end: what an H200 flushes."""
    if operation not in (mul, fma):
        return False
    endless = replace(form, lowest=2 * form.lowest - form.digits)
    return 0 < abs(operation(endless, mode, *operands)) < float(form.tiny)


def instruction(
    operation: Callable[..., float], form: Format, *, mode: str = "rn", ftz: bool = False, sat: bool = False
) -> Callable[..., float]:
    """An operation with its modifiers, as a function of the operands."""

    def compute(*args: float) -> float:
        operands = [flush(form, a) for a in args] if ftz else args
        result = operation(form, mode, *operands)
        if ftz:
            result = math.copysign(0.0, result) if _underflows(operation, form, mode, operands) else flush(form, result)
        return saturate(result) if sat else result

    return compute


# -- arrays -----------------------------------------------------------------------------------------------------------
def values(array: np.ndarray) -> list[float]:
    """Elements as Python floats."""
    with np.errstate(invalid="ignore"):
        return [float(x) for x in array.astype(np.float64)]


def assert_same(got: np.ndarray, wanted: np.ndarray, what: str, inputs: list[np.ndarray]) -> None:
    """The same bits, or NaN in both."""
    integer = np.dtype(f"u{got.dtype.itemsize}")
    wrong = (got.view(integer) != wanted.view(integer)) & ~(np.isnan(got) & np.isnan(wanted))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        shown = ", ".join(f"{float(x[i]).hex()} ({x[i]!r})" for x in inputs)
        given, right = float(got[i]).hex(), float(wanted[i]).hex()
        raise AssertionError(f"{what} of {shown}: {given} instead of {right}; {wrong.sum()} of {len(got)} wrong")


def edges(form: Format) -> list[float]:
    """Zeros, subnormals, the ends of every range, neighbours of 1, infinities, NaN, both signs."""
    tiny, least = float(form.tiny), math.ldexp(1.0, form.lowest)
    step = math.ldexp(1.0, 1 - form.digits)
    top = float(form.highest)
    sizes = [0.0, least, 3 * least, tiny - least, tiny, tiny + least, 0.5, 1 - step / 2, 1.0, 1 + step, 1 + 3 * step]
    sizes += [1.5, 3.0, 2.0**form.digits, top / 2, top, math.inf]
    return [*sizes, *(-s for s in sizes), math.nan]


def least(opcode: str, x: float, y: float, nan: bool) -> float:
    """The ISA's min and max: numbers before NaN, or NaN before numbers, and -0 < +0."""
    if math.isnan(x) or math.isnan(y):
        return math.nan if nan or (math.isnan(x) and math.isnan(y)) else y if math.isnan(x) else x
    first = (x, math.copysign(1, x)) < (y, math.copysign(1, y))
    return x if first == (opcode == "min") else y


def extreme(opcode: str, form: Format, words: Sequence[str]) -> Callable[..., float]:
    def compute(*args: float) -> float:
        args = tuple(flush(form, a) for a in args) if "ftz" in words else args
        sign = math.copysign(1, args[0]) * math.copysign(1, args[1])
        args = tuple(map(abs, args)) if "abs" in words else args
        result = args[0]
        for other in args[1:]:
            result = least(opcode, result, other, "NaN" in words)
        return math.copysign(result, sign) if "xorsign" in words else result

    return compute
