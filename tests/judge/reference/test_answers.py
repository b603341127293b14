"""What a reference, magnitude, invariant or arrange gives is held to what it must be, and refused by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gridstride.judge.find import find
from gridstride.judge.problem import Case, Problem, ProblemError
from gridstride.judge.reference.answers import answers, drawn, marked

CASE = Case({"n": 8}, "normal", 1)
INPUTS = {"a": np.ones(8), "b": np.ones(8), "n": 8}


def problem(**changed: Any) -> Problem:
    """Vector addition, but for what is said."""
    return replace(find("vector_add").problem, **changed)


def leave(_: Any) -> Any:
    raise SystemExit(3)


def test_the_reference_of_a_sound_problem_comes_through() -> None:
    values, _ = answers(problem(), CASE, INPUTS)
    assert (values["c"] == 2).all()


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (lambda v: None, "the reference gives NoneType: a dictionary of outputs by name is needed"),
        (lambda v: v["a"], "the reference gives ndarray: a dictionary"),
        (lambda v: {"z": v["a"]}, "the reference gives no c"),
        (lambda v: {"c": v["a"].sum()}, r"gives c as float64 of shape \[\], it has shape \[8\]"),
        (lambda v: {"c": v["a"][1:]}, r"gives c as float64 of shape \[7\], it has shape \[8\]"),
        (lambda v: {"c": ["x"] * 8}, r"gives c as <U1 of shape \[8\]"),
        (lambda v: {"c": v["a"] * np.nan}, "gives NaN for all of c"),
        (lambda v: {"c": v["z"]}, "the reference fails: KeyError: 'z'"),
        (leave, "the reference fails: SystemExit: 3"),
    ],
)
def test_a_reference_that_gives_something_else_is_refused(reference: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(ProblemError, match=f"problem vector_add: .*{said}.* \\(n=8, normal data\\)"):
        answers(problem(reference=reference), CASE, INPUTS)


def test_some_nan_may_be_right() -> None:
    one = np.where(np.arange(8) == 3, np.nan, 1.0)
    assert np.isnan(answers(problem(reference=lambda v: {"c": one}), CASE, INPUTS)[0]["c"]).sum() == 1


def test_a_magnitude_that_fails_is_named() -> None:
    with pytest.raises(ProblemError, match="magnitude fails: ZeroDivisionError"):
        answers(problem(magnitude=lambda v: {"c": 1 / 0}), CASE, INPUTS)


def test_an_arrange_that_fails_is_named() -> None:
    with pytest.raises(ProblemError, match="arrange fails: KeyError"):
        drawn(problem(arrange=lambda v: {"a": v["q"]}), CASE)


def test_a_case_that_no_memory_holds_is_said() -> None:
    with pytest.raises(ProblemError, match="the data takes more memory than there is"):
        drawn(problem(), Case({"n": 1 << 45}, "normal", 1))


@pytest.mark.parametrize(
    ("invariant", "said"),
    [(lambda v, r: 1 / 0, "the invariant of c fails: ZeroDivisionError"),
     (lambda v, r: np.zeros(3, bool), "the invariant of c gives no mark for each element")],
)  # fmt: skip
def test_an_invariant_that_cannot_be_used_is_named(invariant: Callable[[Any, Any], Any], said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        marked(problem(invariants={"c": invariant}), CASE, "c", INPUTS, {"c": np.zeros(8, "f4")})


def test_no_warning_of_numpy_reaches_who_reads_the_verdict() -> None:
    def reference(v: Any) -> Any:
        return {"c": v["a"] + v["b"] + 0 * np.nan_to_num(np.nanmax(np.full(8, np.nan)))}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (answers(problem(reference=reference), CASE, INPUTS)[0]["c"] == 2).all()


@pytest.mark.parametrize("seed", range(8))
def test_a_cache_of_which_no_sequence_uses_anything_leaves_a_tolerance(seed: int) -> None:
    case = Case({"S": 1, "K": 2, "B": 1, "table_width": 1}, "nothing behind the ends", seed)
    paged = find("paged_attention").problem
    inputs = {**drawn(paged, case), "lengths": np.zeros(1, np.int32)}
    inputs["keys"][:] = np.nan
    values, magnitudes = answers(paged, case, inputs)
    assert (values["out"] == 0).all()
    assert not np.isnan(magnitudes["out"]).any()
