"""Which cases there are: public ones, hidden ones of every class, and those next to a kernel's own tiles."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from gridstride.judge.cases.case_list import (
    all_cases,
    drawn_cases,
    hidden_cases,
    public_cases,
    unchanging,
)
from gridstride.judge.cases.data import generate, kinds
from gridstride.judge.find import find, problem_names
from gridstride.judge.problem import Case, Problem, ProblemError, array, scalar, size


def test_the_same_seed_gives_the_same_data(doubling: Problem) -> None:
    case = all_cases(doubling, seed=5)[-1]
    again = all_cases(doubling, seed=5)[-1]
    assert case == again
    np.testing.assert_array_equal(generate(doubling, case)["x"], generate(doubling, again)["x"])


def test_another_seed_gives_other_hidden_cases(doubling: Problem) -> None:
    assert hidden_cases(doubling, seed=1) != hidden_cases(doubling, seed=2)


def test_hidden_sizes_stay_in_bounds(doubling: Problem) -> None:
    sizes = {case.sizes["n"] for case in drawn_cases(doubling, seed=0, count=400)}
    assert min(sizes) >= 1
    assert max(sizes) <= doubling.widest["n"] == doubling.timed["n"] + 1


def test_sizes_that_may_be_zero_are_drawn_as_zero_and_others_never(doubling: Problem) -> None:
    empty = replace(doubling, zeros=("n",))
    assert 0 in {case.sizes["n"] for case in hidden_cases(empty, seed=0)}
    assert {"n": 0} in [case.sizes for case in public_cases(empty)]
    assert all(case.sizes["n"] for case in all_cases(doubling, seed=0))


def test_each_array_begins_elsewhere_alone_and_together_with_the_others(doubling: Problem) -> None:
    offsets = [dict(case.offsets) for case in hidden_cases(doubling, seed=0) if case.offsets]
    assert all({name: units} in offsets for name in "xy" for units in (1, 2, 3))
    assert any(len(set(each.values())) == 2 for each in offsets)


def test_arrays_of_a_promised_alignment_begin_at_multiples_of_it(doubling: Problem) -> None:
    cases = all_cases(replace(doubling, alignment=16), seed=0)
    assert {start * 4 % 16 for case in cases for start in case.offsets.values()} == {0}
    assert any(case.offsets for case in cases)


def test_rows_lie_as_far_apart_as_they_are_wide_or_by_odd_and_even_gaps_further(pitched: Problem) -> None:
    gaps = {case.sizes["pitch"] - case.sizes["columns"] for case in hidden_cases(pitched, seed=0)}
    assert 0 in gaps
    assert {gap % 2 for gap in gaps} == {0, 1}
    assert min(gaps) == 0


def test_public_cases_hold_every_kind_of_data_on_the_largest_shape(doubling: Problem) -> None:
    largest = [case for case in public_cases(doubling) if case.sizes == {"n": 33} and not case.offsets]
    assert sorted(case.data for case in largest if not case.multiprocessors) == sorted(kinds(doubling))


def test_a_public_shape_that_takes_long_is_run_for_itself_alone(doubling: Problem) -> None:
    cases = public_cases(replace(doubling, public=({"n": 50}, {"n": 1 << 22})))
    assert [case.data for case in cases if case.sizes["n"] > 50] == ["normal"]
    assert {case.data for case in cases if case.sizes["n"] == 50} == set(kinds(doubling))


def test_one_public_case_has_the_grid_of_a_chip_of_one_multiprocessor(doubling: Problem) -> None:
    assert [case.sizes for case in public_cases(doubling) if case.multiprocessors == 1] == [{"n": 33}]


def test_cases_are_run_once_that_are_long_or_next_to_nothing_or_of_twos_or_powers(
    doubling: Problem,
) -> None:
    cases = hidden_cases(replace(doubling, widest={"n": 70_000}), seed=0)
    short = [case for case in cases if case.once and case.sizes["n"] <= 1 << 13]
    assert all(case.sizes["n"] < 4 or case.sizes["n"] % 4 == 2 or case.sizes["n"].bit_count() == 1 for case in short)
    assert all(case.once for case in cases if case.sizes["n"] > 1 << 13)


def test_a_size_of_one_meets_every_kind_of_data_and_both_sorts_of_addresses() -> None:
    cases = [case for case in hidden_cases(find("matmul").problem, seed=0) if case.once and case.sizes["N"] == 1]
    for moved in (False, True):
        found = {case.data for case in cases if bool(case.offsets) == moved}
        assert found >= set(kinds(find("matmul").problem))


def test_less_than_a_vector_lies_past_an_aligned_address(doubling: Problem) -> None:
    few = [case for case in hidden_cases(doubling, seed=0) if case.once and case.sizes["n"] < 4 and case.offsets]
    assert {(case.sizes["n"], *case.offsets) for case in few} >= {(n, name) for n in (1, 2, 3) for name in "xy"}


# -- a parameter that never changes ------------------------------------------------------------------------------------
def scaled(doubling: Problem, **changes: object) -> Problem:
    parameters = (array("x", "float32", "n"), array("y", "float32", "n", role="out"), size("n"), scalar("factor"))
    return replace(doubling, parameters=parameters, reference=lambda v: {"y": v["factor"] * v["x"]}, **changes)


def test_a_parameter_that_is_the_same_in_every_case_is_named(doubling: Problem) -> None:
    assert unchanging(scaled(doubling)) == ()
    assert unchanging(scaled(doubling, arrange=lambda v: {"factor": 2.0})) == ("factor",)


def test_a_size_that_is_the_same_in_every_case_is_named(doubling: Problem) -> None:
    assert unchanging(replace(doubling, public=({"n": 64},), largest={"n": 64})) == ("n",)


def test_a_problem_with_a_parameter_that_never_changes_does_not_load(tmp_path) -> None:
    text = find("saxpy").path.joinpath("problem.py").read_text()
    text = text.replace("    reference=reference,", '    reference=reference,\n    arrange=lambda v: {"a": 2.0},')
    text = re.sub(r"special=\{.*?\},", "", text, flags=re.DOTALL)
    (tmp_path / "problem.py").write_text(text)
    with pytest.raises(ProblemError, match="problem saxpy: a is the same in every case"):
        find(tmp_path)


@pytest.mark.parametrize("name", problem_names())
def test_no_input_of_a_shipped_problem_is_the_same_in_every_case(name: str) -> None:
    assert unchanging(find(name).problem) == ()


@pytest.mark.parametrize("name", problem_names())
def test_every_kind_of_data_of_a_shipped_problem_differs_from_normal_data(name: str) -> None:
    problem = find(name).problem
    shape = max(problem.public, key=lambda sizes: sum(sizes.values()))
    normal = generate(problem, Case(shape, "normal", 7))
    for kind in problem.special:
        other = generate(problem, Case(shape, kind, 7))
        assert any(np.asarray(other[key]).tobytes() != np.asarray(normal[key]).tobytes() for key in normal), kind


def test_a_small_size_is_run_at_its_largest_and_the_others_are_large_enough_for_it_to_matter() -> None:
    """A filter of 35 taps over an image of three rows has most of its weights outside."""
    problem = find("convolution").problem
    for seed in range(5):
        far = [case for case in all_cases(problem, seed=seed) if case.sizes["R"] == problem.widest["R"]]
        assert far
        assert all(min(case.sizes["H"], case.sizes["W"]) > 2 * case.sizes["R"] for case in far)


def test_a_cache_has_two_blocks_at_least_where_a_table_is_long() -> None:
    """Of one alone every place in the table would hold the same, and who stops early would be right."""
    paged = find("paged_attention").problem
    long = [case for case in all_cases(paged, seed=1) if case.sizes["table_width"] > 200]
    assert long
    assert all(case.sizes["B"] >= 2 for case in long)
