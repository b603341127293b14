"""Cases and their data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gridstride.judge.cases.case_list import hidden_cases
from gridstride.judge.cases.data import generate, kinds, partly
from gridstride.judge.find import find
from gridstride.judge.problem import Case, Problem, ProblemError, array, scalar, size


def draw(problem: Problem, kind: str, n: int = 4096) -> np.ndarray:
    return generate(problem, Case({"n": n}, kind, 3))["x"]


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


def test_denormal_data_is_about_the_smallest_normal_number_and_sums_of_normal_ones_are_below_it(
    doubling: Problem,
) -> None:
    x, least = draw(doubling, "denormal").astype(np.float64), np.finfo(np.float32).smallest_normal
    assert 0 < np.abs(x).max() <= 2 * least
    assert 0.3 < (np.abs(x) < least).mean() < 0.7
    normal = x[np.abs(x) >= least]
    assert (np.abs(normal[:-1] + normal[1:]) < least).any()


def test_opposed_infinities_are_one_of_each_sign(doubling: Problem) -> None:
    x = draw(doubling, "opposed")
    assert sorted(x[~np.isfinite(x)]) == [-np.inf, np.inf]
    assert np.isfinite(generate(doubling, Case({"n": 1}, "opposed", 1))["x"]).all()  # no room for both


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


def test_nonfinite_data_has_zeros_that_infinities_are_multiplied_with(doubling: Problem) -> None:
    assert (draw(doubling, "nonfinite") == 0).any()


def test_a_kind_of_the_problems_own_goes_on_top_of_what_was_arranged_in_the_problems_dtypes(doubling: Problem) -> None:
    own = replace(
        doubling,
        arrange=lambda v: {"x": v["x"] * 0 + 2},
        special={"fives": lambda v, rng: {"x": np.where(rng.random(v["x"].shape) < 0.5, 5.0, v["x"])}},
    )
    assert kinds(own)[-1] == "fives"
    x = draw(own, "fives")
    assert x.dtype == np.float32
    assert set(x) == {2.0, 5.0}


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
    ("timed", "widest"), [(200, {"n": 201}), (64, {}), (1 << 18, {"n": (1 << 18) + 1}), (1 << 19, {})]
)
def test_a_size_is_judged_as_far_as_it_is_timed(doubling: Problem, timed: int, widest: dict[str, int]) -> None:
    assert replace(doubling, timed={"n": timed}, widest={}).widest == widest


def test_a_size_at_which_the_answer_is_dear_stays_as_it_is(doubling: Problem) -> None:
    assert replace(doubling, timed={"n": 1 << 17}, widest={}, flops="n*n").widest == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"timed": {"m": 3}}, r"problem doubling: timed gives \['m'\], the shapes need \['n'\]"),
        ({"public": ({"n": 0},)}, r"problem doubling: public\[0\] has n=0, at least 1 is needed"),
        ({"flops": "2*q"}, r"problem doubling: flops: q in 2\*q is no size of this problem"),
        ({"parameters": (array("x", "float32", "n"), size("n"))}, r"no parameter has role out or inout"),
        ({"widest": {"m": 70_000}}, r"widest names m, the sizes are \['n'\]"),
        ({"wide_data": ("normal", "fives")}, r"wide_data names 'fives': use normal or one of its own"),
        ({"widest": {"n": 10}}, r"widest has n=10, below the 64 of largest"),
        ({"alignment": 24}, r"alignment is 24: a power of two up to 256, in bytes, is needed"),
    ],
)
def test_a_problem_that_cannot_be_judged_with_is_refused(doubling: Problem, change: dict, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        replace(doubling, **change)


@pytest.fixture
def two(doubling: Problem) -> Problem:
    """Of two arrays and a number."""
    more = (array("w", "float32", "n"), scalar("a", "float32"))
    return replace(doubling, parameters=(*more, *doubling.parameters))


def test_one_array_or_number_at_a_time_is_not_finite_and_the_other_arrays_hold_zeros_for_it(two: Problem) -> None:
    alone = ["nonfinite in w", "nonfinite in a", "nonfinite in x", "not a number in w", "not a number in x"]
    assert [kind for kind in kinds(two) if " in " in kind] == alone
    for seed, zeros in ((2, 0.5), (3, 1.0)):
        values = generate(two, Case({"n": 2000}, "nonfinite in w", seed))
        assert np.isnan(values["w"]).any()
        assert np.isinf(values["w"]).any()
        assert np.isfinite(values["x"]).all()
        assert np.isfinite(values["a"])
        assert abs((values["x"] == 0).mean() - zeros) < 0.1
        number = generate(two, Case({"n": 2000}, "nonfinite in a", seed))
        assert not np.isfinite(number["a"])
        assert abs((number["x"] == 0).mean() - zeros) < 0.1


def test_numbers_that_a_problem_makes_itself_stay_finite(two: Problem) -> None:
    assert "nonfinite in a" not in kinds(replace(two, arrange=lambda v: {"a": 2 * v["a"]}))


def test_both_sorts_of_zeros_are_among_the_hidden_cases_of_a_kind(two: Problem) -> None:
    for kind in ("nonfinite in w", "nonfinite in a", "not a number in x"):
        assert {case.seed % 2 for case in hidden_cases(two, seed=5) if case.data == kind} == {0, 1}


def test_small_numbers_are_far_from_denormal_and_of_one_scale(doubling: Problem) -> None:
    for seed in range(5):
        x = np.abs(generate(doubling, Case({"n": 2000}, "small", seed))["x"].astype(np.float64))
        assert 1e-17 < np.median(x) < 1e-6
        assert x.max() < 10 * np.median(x)


def test_a_row_that_is_short_has_an_infinity_for_certain(doubling: Problem) -> None:
    for seed in range(20):
        assert np.isinf(generate(doubling, Case({"n": 16}, "nonfinite", seed))["x"]).any()


def test_data_that_are_mostly_those_before_differ_in_a_quarter_of_the_elements_and_in_no_whole_number() -> None:
    problem = find("matmul").problem
    one, other = (generate(problem, Case({"M": 64, "N": 64, "K": 64}, "normal", seed)) for seed in (1, 2))
    mixed = partly(problem, one, other, seed=3)
    for name in ("A", "B"):
        changed = mixed[name] != one[name]
        assert 0.15 < changed.mean() < 0.35
        assert (mixed[name][changed] == other[name][changed]).all()
        assert mixed[name].dtype == one[name].dtype
    assert {name: mixed[name] for name in ("M", "N", "K")} == {name: one[name] for name in ("M", "N", "K")}


def test_a_matrix_has_an_infinity_in_about_every_other_row() -> None:
    values = generate(find("matmul").problem, Case({"M": 400, "N": 64, "K": 64}, "infinite", 5))
    rows = np.isinf(values["A"]).sum(axis=1)
    assert set(rows.tolist()) <= {0, 1, 2}
    assert 0.35 < (rows > 0).mean() < 0.65
