"""The tolerance, from both sides: what an honest kernel may do passes, what must not pass fails."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gridstride.judge.cases.data import kinds
from gridstride.judge.find import find
from gridstride.judge.problem import Case, Problem
from gridstride.judge.reference.prepared_cases import prepare
from gridstride.judge.reference.tolerance import Expected, compare, deviation, expect

MATMUL = find("matmul").problem
REDUCTION = find("reduction").problem
SHAPE = {"M": 67, "N": 45, "K": 301}


def product(a: np.ndarray, b: np.ndarray, order: np.ndarray) -> np.ndarray:
    """float32 product that adds the steps of k one after the other in the order given."""
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    with np.errstate(all="ignore"):
        for k in order:
            total += a[:, k : k + 1] * b[k : k + 1, :]
    return total


def judged(problem: Problem, case: Case, kernel: Callable[..., np.ndarray]) -> bool:
    (one,) = prepare(problem, [case])
    arrays = [value for value in one.inputs.values() if isinstance(value, np.ndarray)]
    (expected,) = one.expected.values()
    return compare(kernel(*arrays), expected).passed


ORDERS = {
    "forward": lambda k: np.arange(k),
    "backward": lambda k: np.arange(k)[::-1],
    "shuffled": lambda k: np.random.default_rng(0).permutation(k),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("data", kinds(MATMUL))
def test_a_product_in_any_order_of_summation_passes(data: str, order: str) -> None:
    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return product(a, b, ORDERS[order](a.shape[1]))

    assert judged(MATMUL, Case(SHAPE, data, 1), kernel)


def rounded_to(bits: int) -> Callable[[np.ndarray], np.ndarray]:
    """Rounding of a float32's significand to `bits` bits, as tf32 (11) and bf16 (8) have."""

    def rounding(x: np.ndarray) -> np.ndarray:
        significand, exponent = np.frexp(x.astype(np.float64))
        return np.ldexp(np.round(np.ldexp(significand, bits)), exponent - bits).astype(np.float32)

    return rounding


@pytest.mark.parametrize(("name", "bits"), [("bf16", 8), ("tf32 or fp16", 11), ("two bits more than tf32", 13)])
@pytest.mark.parametrize("k", [1, 8, 301, 2048])
def test_inputs_rounded_to_fewer_bits_fail_at_every_depth(name: str, bits: int, k: int) -> None:
    fewer = rounded_to(bits)

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (fewer(a).astype(np.float64) @ fewer(b).astype(np.float64)).astype(np.float32)

    assert not judged(MATMUL, Case({"M": 33, "N": 29, "K": k}, "normal", 1), kernel), name


WRONG = {
    "zeros": lambda a, b: np.zeros((a.shape[0], b.shape[1]), np.float32),
    "a constant": lambda a, b: np.ones((a.shape[0], b.shape[1]), np.float32),
    "NaN": lambda a, b: np.full((a.shape[0], b.shape[1]), np.nan, np.float32),
    "a copy of A": lambda a, b: np.resize(a, (a.shape[0], b.shape[1])),
    "the last step missing": lambda a, b: product(a, b, np.arange(a.shape[1] - 1)),
    "a step twice": lambda a, b: product(a, b, np.r_[0, np.arange(a.shape[1])]),
    "shifted by one column": lambda a, b: np.roll(product(a, b, np.arange(a.shape[1])), 1, axis=1),
    "scaled by 1.00001": lambda a, b: product(a, b, np.arange(a.shape[1])) * np.float32(1.00001),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_product_fails_on_random_data(wrong: str) -> None:
    assert not judged(MATMUL, Case(SHAPE, "normal", 1), WRONG[wrong])


@pytest.mark.parametrize("place", [(0, 0), (66, 44), (31, 7)])
def test_one_wrong_element_fails(place: tuple[int, int]) -> None:
    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        result = product(a, b, np.arange(a.shape[1]))
        result[place] = np.nextafter(result[place], np.float32(9)) + np.float32(1e-3)
        return result

    assert not judged(MATMUL, Case(SHAPE, "normal", 1), kernel)


def test_whole_number_data_is_compared_to_the_bit() -> None:
    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        result = product(a, b, np.arange(a.shape[1]))
        result[3, 5] = np.nextafter(result[3, 5], np.float32(np.inf))
        return result

    case = Case(SHAPE, "whole", 1)
    assert judged(MATMUL, case, lambda a, b: product(a, b, np.arange(a.shape[1])))
    assert not judged(MATMUL, case, kernel)


def test_nan_equals_only_a_nan_that_the_reference_has() -> None:
    case = Case(SHAPE, "nonfinite", 1)
    right = lambda a, b: product(a, b, np.arange(a.shape[1]))  # noqa: E731
    assert judged(MATMUL, case, right)
    assert not judged(MATMUL, case, lambda a, b: np.full((67, 45), np.nan, np.float32))
    assert not judged(MATMUL, case, lambda a, b: np.nan_to_num(right(a, b)))
    assert not judged(MATMUL, Case(SHAPE, "normal", 1), lambda a, b: np.full((67, 45), np.inf, np.float32))


@pytest.mark.parametrize("data", kinds(REDUCTION))
@pytest.mark.parametrize("n", [1, 2, 1000, 100_003])
def test_a_sum_one_by_one_and_pairwise_passes(data: str, n: int) -> None:
    def one_by_one(x: np.ndarray, total: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.add.accumulate(np.r_[total, x], dtype=np.float32)[-1:]

    def pairwise(x: np.ndarray, total: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return total + np.sum(x, dtype=np.float32, keepdims=True)

    case = Case({"n": n}, data, 2)
    assert judged(REDUCTION, case, one_by_one)
    assert judged(REDUCTION, case, pairwise)


@pytest.mark.parametrize("data", ["normal", "whole", "equal"])
def test_a_sum_without_its_last_element_fails(data: str) -> None:
    case = Case({"n": 1000}, data, 2)
    assert not judged(REDUCTION, case, lambda x, total: total + np.sum(x[:-1], dtype=np.float64, keepdims=True))


def test_the_error_is_reported_in_proportion_to_what_was_added() -> None:
    (one,) = prepare(MATMUL, [Case(SHAPE, "normal", 1)])
    expected = one.expected["C"]
    got = expected.values.astype(np.float32)
    assert compare(got, expected).max_error < 1e-7
    got[0, 0] = np.nan
    assert compare(got, expected).max_error == np.inf


NUMBERS = (0.0, -0.0, 1.0, -2.5, 1e-310, 3e38, 1e200, 1e308, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("value", NUMBERS)
@pytest.mark.parametrize("answer", NUMBERS)
def test_an_element_is_right_where_it_is_finite_and_near_or_the_same(value: float, answer: float) -> None:
    """Inf is near to nothing, however large the bound: among numbers that are all right and alone."""
    for around in (0, 50):
        got, values = np.full(around + 1, 1.0), np.full(around + 1, 1.0)
        got[-1], values[-1] = value, answer
        with np.errstate(all="ignore"):
            bound = abs(values) * 1e-6
            near = np.isfinite(value) and np.isfinite(answer) and abs(value - answer) <= abs(answer) * 1e-6
        right = bool(near or value == answer or (np.isnan(value) and np.isnan(answer)))
        found = compare(got, Expected(values, bound, None, abs(values)))
        assert found.passed == right
        assert found.wrong.tolist() == [False] * around + [not right]
        assert not found.wrong.any() or found.max_error > 0


def test_the_norm_is_of_the_errors_that_are_finite() -> None:
    got, values = np.array([1.0, 2.0, np.inf]), np.array([1.5, 2.0, np.inf])
    assert deviation(got, Expected(values, np.ones(3), 1.0, np.ones(3)))[1] == 0.25
    far = compare(got, Expected(values, np.ones(3), 0.4, np.ones(3)))
    assert far.norm_only
    assert not far.passed


def test_a_tolerance_that_nobody_knows_refuses_no_equal_answer() -> None:
    """A magnitude of NaN, as of a cache that no sequence uses."""
    output = next(p for p in MATMUL.outputs)
    values = np.array([[0.0, 2.0, np.nan]])
    case = Case({"M": 1, "N": 3, "K": 1}, "small", 1)
    expected = expect(MATMUL, case, output, values, np.full_like(values, np.nan))
    assert compare(values.astype(np.float32), expected).passed
    assert compare(np.array([[0.0, 2.5, np.nan]], np.float32), expected).wrong.tolist() == [[False, True, False]]
