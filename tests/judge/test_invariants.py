"""Answers that are not unique: what must hold is checked, whichever of them a kernel gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gridstride.judge.cases.case_list import public_cases
from gridstride.judge.execution.runnable import Runnable
from gridstride.judge.problem import Problem, ProblemError, Values, array, size
from gridstride.judge.proof.imposters import imposters
from gridstride.judge.proof.prove import _imposter, _same_precision
from gridstride.judge.reference.prepared_cases import prepare
from gridstride.judge.timing.timer import Timer
from gridstride.judge.verify import verify

Body = Callable[..., None]


def order(v: Values) -> dict[str, np.ndarray]:
    return {"order": np.argsort(v["keys"], kind="stable")}


def misplaced(v: Values, results: Values) -> np.ndarray:
    """Elements that follow a larger key, or that name a key that is named already."""
    named = results["order"].astype(np.int64)
    inside = (named >= 0) & (named < named.size)
    keys = v["keys"][np.where(inside, named, 0)]
    falls = np.concatenate([[False], keys[1:] < keys[:-1]])
    again = np.bincount(np.where(inside, named, 0), minlength=named.size)[np.where(inside, named, 0)] > 1
    return ~inside | falls | again


PROBLEM = Problem(
    name="order", title="The order of keys, equal ones as they come",
    parameters=(array("keys", "uint8", "n"), array("order", "int32", "n", role="out"), size("n")),
    reference=order, invariants={"order": misplaced}, public=({"n": 64}, {"n": 333}), largest={"n": 400},
    observed={"n": 64}, timed={"n": 1024}, flops="0", bytes="5*n",
)  # fmt: skip


def stable(keys: np.ndarray, order: np.ndarray, n: int) -> None:
    order[...] = np.argsort(keys, kind="stable")


def backwards_among_equals(keys: np.ndarray, order: np.ndarray, n: int) -> None:
    order[...] = n - 1 - np.argsort(keys[::-1], kind="stable")


def one_twice(keys: np.ndarray, order: np.ndarray, n: int) -> None:
    stable(keys, order, n)
    order[1:2] = order[:1]


def unsorted(keys: np.ndarray, order: np.ndarray, n: int) -> None:
    order[...] = np.arange(n)


CASES = pytest.mark.parametrize(
    ("body", "right"), [(stable, True), (backwards_among_equals, True), (one_twice, False), (unsorted, False)]
)


@CASES
def test_any_right_answer_passes_and_no_wrong_one(body: Body, right: bool, runs: Callable[..., Runnable]) -> None:
    found = verify(PROBLEM, runs(body), prepare(PROBLEM, public_cases(PROBLEM))).findings
    assert [finding.kind for finding in found] == ([] if right else ["wrong_result"])


@CASES
def test_timed_outputs_are_held_to_it_too(
    body: Body, right: bool, host: Any, runs: Callable[..., Runnable], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gridstride.judge.timing.timer.multiprocessor_mhz", lambda device: None)
    assert Timer(PROBLEM, host, seed=1, clock=lambda: host.clock / 1000).time(runs(body)).right == right


def test_the_reference_holds_it_and_every_imposter_breaks_it() -> None:
    prepared = prepare(PROBLEM, public_cases(PROBLEM))
    assert _same_precision(PROBLEM, prepared).held
    trials = [trial for each in imposters(PROBLEM) if (trial := _imposter(PROBLEM, each, prepared))]
    assert len(trials) >= 4
    assert all(trial.held for trial in trials), [trial for trial in trials if not trial.held]


def test_an_invariant_of_what_is_no_output_is_refused() -> None:
    with pytest.raises(ProblemError, match="invariants names keys, which is no output"):
        replace(PROBLEM, invariants={"keys": misplaced})
