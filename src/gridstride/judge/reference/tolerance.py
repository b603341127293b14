"""How far from the float64 reference a result may be.

With u the unit roundoff of the output's dtype, k the terms added up for an element and m the sum of their absolute
values:

- Any correct kernel, in whatever order it adds, is within k·u·m of the exact sum: the classical bound, e.g.
  N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2. It holds for every kind of data.
- On random data errors cancel: they stay within a small factor of √k·u times the largest sum on the way (N. J. Higham
  and T. Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019), which is the
  result itself, or m/√k where terms of both signs make a random walk.
- The same bound holds for the 2-norm of all errors, and there chance plays no part. It tells tf32 or fp16 arithmetic
  from fp32: their error is of the order of 2^-11 of the result, whatever k is.

NaN equals only a NaN that the reference has, and Inf only the same Inf. Whole-number data is compared exactly where
the problem says that its answers are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, isnan, prod, sqrt

import numpy as np

from gridstride.judge.problem import Array, Case, Parameter, Problem
from gridstride.judge.symbols import evaluate

_PROBABLE = 6.0  # factor on √k·u; calibrated by tests/judge/reference/test_tolerance.py from both sides
_PROBABLE_NORM = 1.5  # the same of many errors together: the ladders' kernels stay under 0.5 (bench/tolerance.py)
_MANY = 64
_FINAL = 4  # roundings after the sum: a division, a scale, an addition to what was there


@dataclass(frozen=True, slots=True)
class Expected:
    """What one output must be: float64 values, the scale of rounding errors, and how much of it is allowed."""

    values: Array
    bound: Array | None  # largest allowed |error| of each element; None: equal to the bit
    norm_bound: float | None  # largest allowed 2-norm of the errors
    scale: Array  # what max_error is relative to
    bitwise: bool = False  # the sign of a zero and the payload of a NaN count


@dataclass(frozen=True, slots=True)
class Comparison:
    """One output against what it must be. `wrong` marks elements; it can be all False when only the norm is off."""

    passed: bool
    wrong: Array
    max_error: float  # largest |error| in proportion to the scale of the element; inf for a NaN out of place
    norm_only: bool = False


def expect(problem: Problem, case: Case, parameter: Parameter, values: Array, magnitude: Array | None) -> Expected:
    """What `parameter` must hold, from the reference's `values` and the magnitudes of its sums."""
    dtype = np.dtype(parameter.dtype)
    if dtype.kind != "f":
        return Expected(values, None, None, np.ones_like(values, dtype=np.float64))
    with np.errstate(all="ignore"):
        scale = np.abs(values) if magnitude is None else magnitude
        if _exact(problem, case):
            return Expected(values.astype(dtype), None, None, scale, bitwise=problem.bitwise)
        information = np.finfo(dtype)
        if not _within(values, float(information.max)):
            over = np.isinf(values.astype(dtype))
            values = np.where(over, np.sign(values) * np.inf, values)  # what the dtype overflows to
        terms = max(1, evaluate(problem.terms, case.sizes))  # a sum of nothing is exact, too
        unit = float(information.eps) / 2
        random = case.data == "normal"
        if isnan(scale.sum()):
            scale = np.where(np.isnan(scale), np.abs(values), scale)  # unknown: a right answer is right all the same
        # Below the smallest normal number the spacing of floats is fixed, and with it the size of rounding errors.
        scale = scale + float(information.smallest_subnormal) / unit
        if not random:
            return Expected(values, scale * ((terms + _FINAL) * unit), None, scale)
        # Where terms cancel, the sums on the way are still of the size of a random walk.
        size = np.abs(values)
        np.maximum(size, scale if terms == 1 else scale / terms**0.5, out=size)
        factor = _PROBABLE_NORM if prod(problem.shape(parameter, case.sizes)) >= _MANY else _PROBABLE
        norm = factor * terms**0.5 * unit * _norm(size)
        size *= _PROBABLE * terms**0.5 * unit
    return Expected(values, size, norm, scale)


def _within(values: Array, most: float) -> bool:
    """Whether no absolute value is above `most`, or NaN: with no array on the way, since those of a wide case cost more
    than the arithmetic.
    """
    return not values.size or (float(values.max()) <= most and float(values.min()) >= -most)


def compare(got: Array, expected: Expected) -> Comparison:
    """Whether `got` is what it must be."""
    error = _error(got, expected)
    wrong, squares = _deviation(got, expected, error)
    worst, some = _max_error(error, expected.scale, wrong), bool(wrong.any())
    too_far = not some and expected.norm_bound is not None and squares > expected.norm_bound**2
    return Comparison(not some and not too_far, wrong, worst, norm_only=too_far)


def deviation(got: Array, expected: Expected) -> tuple[Array, float]:
    """Which elements are wrong, and the sum of the squares of all finite errors (0 where there is no tolerance)."""
    return _deviation(got, expected, _error(got, expected) if expected.bound is not None else None)


def _error(got: Array, expected: Expected) -> Array:
    with np.errstate(all="ignore"):
        error: Array = np.asarray(np.subtract(got, expected.values, dtype=np.float64))
        return np.abs(error, out=error)


def _deviation(got: Array, expected: Expected, error: Array | None) -> tuple[Array, float]:
    values = expected.values
    if expected.bound is None or error is None:
        return ~(_same_bits(got, values) if expected.bitwise else _same(got, values)), 0.0
    with np.errstate(all="ignore"):
        right, squares = error <= expected.bound, _sum_of_squares(error)
        if not (isfinite(squares) and right.all()):  # Inf and NaN among them, or what is wrong
            right = np.where(np.isfinite(values), right & np.isfinite(got), _same(got, values))
            squares = _squares(error)
    return ~right, squares


def _exact(problem: Problem, case: Case) -> bool:
    return problem.bitwise or (problem.exact and case.data == "whole")


def _same_bits(got: Array, values: Array) -> Array:
    raw = (np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}") for array in (got, values))
    same: Array = np.equal(*raw)
    return same


def _same(got: Array, values: Array) -> Array:
    same: Array = np.equal(got, values)
    if got.dtype.kind == "f":
        same = same | (np.isnan(got) & np.isnan(values))
    return same


def _max_error(error: Array, scale: Array, wrong: Array) -> float:
    if not error.size:
        return 0.0
    with np.errstate(all="ignore"):
        largest = float(np.max(error / scale)) if scale.min() > 0 else inf
        if isfinite(largest):
            return largest
        relative = np.where(error == 0, 0.0, error / np.where(scale > 0, scale, 1.0))
    relative = np.where(np.isfinite(relative), relative, np.where(wrong, np.inf, 0.0))
    return float(relative.max())


def _norm(values: Array) -> float:
    return sqrt(_squares(values))


def _squares(values: Array) -> float:
    """The sum of the squares of what is finite."""
    total = _sum_of_squares(values)
    if isfinite(total):
        return total
    finite = values[np.isfinite(values)]
    return float(np.sum(np.square(finite, dtype=np.float64)))


def _sum_of_squares(values: Array) -> float:
    """Of all of them, Inf and NaN too, with no array on the way."""
    flat = values.ravel()
    return float(np.einsum("i,i->", flat, flat))
