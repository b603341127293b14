"""Cases and their data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gridstride.judge.cases import all_cases, hidden_cases, public_cases
from gridstride.judge.data import generate, kinds
from gridstride.judge.problem import Case, Problem, ProblemError, array, size


def draw(problem: Problem, kind: str, n: int = 4096) -> np.ndarray:
    return generate(problem, Case({"n": n}, kind, 3))["x"]


def test_the_same_seed_gives_the_same_data(doubling: Problem) -> None:
    case = all_cases(doubling, seed=5)[-1]
    again = all_cases(doubling, seed=5)[-1]
    assert case == again
    np.testing.assert_array_equal(generate(doubling, case)["x"], generate(doubling, again)["x"])


def test_another_seed_gives_other_hidden_cases(doubling: Problem) -> None:
    assert hidden_cases(doubling, seed=1) != hidden_cases(doubling, seed=2)


def test_hidden_sizes_stay_in_bounds_and_meet_one_a_prime_and_a_tile_edge(doubling: Problem) -> None:
    sizes = {case.sizes["n"] for case in hidden_cases(doubling, seed=0, count=400)}
    assert max(sizes) <= 64
    assert {1, 31, 33, 61, 63, 64} <= sizes


def test_sizes_that_may_be_zero_are_drawn_as_zero_and_others_never(doubling: Problem) -> None:
    empty = replace(doubling, zeros=("n",))
    assert 0 in {case.sizes["n"] for case in hidden_cases(empty, seed=0, count=100)}
    assert {"n": 0} in [case.sizes for case in public_cases(empty)]
    assert all(case.sizes["n"] for case in all_cases(doubling, seed=0, hidden=200))


def test_arrays_begin_next_to_an_aligned_address_and_far_from_one(doubling: Problem) -> None:
    offsets = {case.offset for case in hidden_cases(doubling, seed=0, count=100)}
    assert offsets >= {0, 1, 2, 3}
    assert max(offsets) > 1 << 16


def test_rows_lie_as_far_apart_as_they_are_wide_or_by_odd_and_even_gaps_further(pitched: Problem) -> None:
    gaps = {case.sizes["pitch"] - case.sizes["columns"] for case in hidden_cases(pitched, seed=0, count=100)}
    assert 0 in gaps
    assert {gap % 2 for gap in gaps} == {0, 1}
    assert min(gaps) == 0


def test_public_cases_hold_every_kind_of_data_on_the_largest_shape(doubling: Problem) -> None:
    largest = [case for case in public_cases(doubling) if case.sizes == {"n": 33}]
    assert sorted(case.data for case in largest if not case.multiprocessors) == sorted(kinds(doubling))


def test_one_public_case_has_the_grid_of_a_chip_of_one_multiprocessor(doubling: Problem) -> None:
    assert [case.sizes for case in public_cases(doubling) if case.multiprocessors == 1] == [{"n": 33}]


def test_a_kind_can_be_left_out_with_a_reason(doubling: Problem) -> None:
    assert "denormal" not in kinds(replace(doubling, without={"denormal": "flushed"}))


def test_normal_data_is_spread_around_zero(doubling: Problem) -> None:
    x = draw(doubling, "normal")
    assert x.dtype == np.float32
    assert abs(x.mean()) < 0.1
    assert 0.9 < x.std() < 1.1


def test_whole_data_is_whole_and_not_all_zero(doubling: Problem) -> None:
    x = draw(doubling, "whole")
    assert (x == np.round(x)).all()
    assert 2 < np.abs(x).max() <= 4


def test_equal_data_is_one_value_that_is_not_zero(doubling: Problem) -> None:
    x = draw(doubling, "equal")
    assert (x == x[0]).all()
    assert x[0] != 0


def test_cancellation_has_a_sum_far_below_its_terms(doubling: Problem) -> None:
    x = draw(doubling, "cancellation").astype(np.float64)
    assert abs(x.sum()) < 1e-3 * np.abs(x).sum()


def test_spikes_are_few_and_huge(doubling: Problem) -> None:
    x = np.abs(draw(doubling, "spikes"))
    assert 0 < (x > 1e5).mean() < 0.05
    assert np.median(x) < 1


def test_denormal_data_is_below_the_smallest_normal_number(doubling: Problem) -> None:
    x = np.abs(draw(doubling, "denormal"))
    assert 0 < x.max() <= np.finfo(np.float32).smallest_normal


def test_nonfinite_data_has_inf_and_nan_and_mostly_numbers(doubling: Problem) -> None:
    x = draw(doubling, "nonfinite")
    assert np.isnan(x).any()
    assert np.isinf(x).any()
    assert np.isfinite(x).mean() > 0.9


def test_bytes_have_kinds_of_their_own(doubling: Problem) -> None:
    byte = replace(doubling, parameters=(array("x", "uint8", "n"), array("y", "uint8", "n", role="out"), size("n")))
    assert kinds(byte) == ("normal", "equal", "spikes")
    assert set(np.unique(draw(byte, "spikes"))) == {0, 255}
    assert np.unique(draw(byte, "normal")).size > 200


def test_sizes_reach_the_kernel_as_numbers(doubling: Problem) -> None:
    assert generate(doubling, Case({"n": 7}, "normal", 0))["n"] == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strides": {"pitch": "m"}}, "strides names m, the sizes are"),
        ({"zeros": ("q",)}, "zeros names q, the sizes are"),
        ({"observed": {"rows": 4, "columns": 9, "pitch": 8}}, "observed has pitch=8 and columns=9: rows would overlap"),
        ({"parameters": (array("y", "int32", "rows", "pitch", role="out"), array("c", "int32", "columns"))},
         "y has gaps and is int32, which has no NaN"),
    ],
)  # fmt: skip
def test_strides_that_make_no_sense_are_refused(pitched: Problem, change: dict, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        replace(pitched, **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"timed": {"m": 3}}, r"problem doubling: timed gives \['m'\], the shapes need \['n'\]"),
        ({"public": ({"n": 0},)}, r"problem doubling: public\[0\] has n=0, at least 1 is needed"),
        ({"flops": "2*q"}, r"problem doubling: flops: q in 2\*q is no size of this problem"),
        ({"parameters": (array("x", "float32", "n"), size("n"))}, r"no parameter has role out or inout"),
    ],
)
def test_a_problem_that_cannot_be_judged_with_is_refused(doubling: Problem, change: dict, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        replace(doubling, **change)
