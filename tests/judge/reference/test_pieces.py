"""Large cases are worked out and checked in pieces, by the same rules as small ones at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gridstride.judge.cases import data
from gridstride.judge.cases.data import generate
from gridstride.judge.find import find, problem_names
from gridstride.judge.problem import Case, Problem, ProblemError, array, size
from gridstride.judge.reference import pieces
from gridstride.judge.reference.pieces import Answer, answers
from gridstride.judge.reference.prepared_cases import prepare
from gridstride.judge.reference.tolerance import Expected, compare

PROBLEMS = [find(name).problem for name in problem_names()]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_PIECE", 97)
    monkeypatch.setattr(pieces, "_SHARED", 10**6)


def odd(problem: Problem) -> Case:
    """A case that is cut into pieces of different sizes."""
    sizes = {name: min(limit, 1000) - 7 if limit > 14 else limit for name, limit in problem.largest.items()}
    return Case(sizes, "normal", 11)


def judged(problem: Problem) -> list[tuple[Answer, Expected, np.ndarray]]:
    """Each output's answer in pieces, the same at once, and a right result."""
    (whole,) = prepare(problem, [odd(problem)])
    found = answers(problem, odd(problem), whole.inputs)
    return [
        (found[p.name], whole.expected[p.name], whole.expected[p.name].values.astype(p.dtype)) for p in problem.outputs
    ]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_every_problem_is_cut_and_gives_what_it_gives_at_once(problem: Problem) -> None:
    for answer, expected, _ in judged(problem):
        together = np.full(expected.values.shape, np.nan)
        for piece in answer.pieces:
            together[piece.index] = piece.expected.values
        np.testing.assert_allclose(together, expected.values, rtol=1e-12, atol=1e-12)
        if problem.pieces:
            folded = problem.pieces not in problem.outputs[0].shape
            most = min(3, odd(problem).sizes[problem.pieces] - 1)
            assert (len(answer.pieces) == 1) if folded else (len(answer.pieces) > most)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_the_tolerance_is_that_of_the_whole(problem: Problem) -> None:
    for answer, expected, _ in judged(problem):
        if expected.bound is None or expected.norm_bound is None:
            assert all(piece.expected.bound is None for piece in answer.pieces)
            continue
        together = np.zeros(expected.values.shape)
        for piece in answer.pieces:
            assert piece.expected.bound is not None
            together[piece.index] = piece.expected.bound
        np.testing.assert_allclose(together, expected.bound, rtol=1e-6)
        norm = np.sqrt(sum((piece.expected.norm_bound or 0) ** 2 for piece in answer.pieces))
        assert norm == pytest.approx(expected.norm_bound)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_a_right_result_holds(problem: Problem) -> None:
    assert all(answer.holds(right) for answer, _, right in judged(problem))


SPOILT: dict[str, Callable[[Any], Any]] = {
    "off": lambda x: x + np.maximum(abs(x), 1).astype(x.dtype),
    "its poison": lambda x: np.full_like(x, np.nan if x.dtype.kind == "f" else 0xFF),
}


@pytest.mark.parametrize("how", SPOILT)
@pytest.mark.parametrize("place", [0, 0.37, 1])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_one_wrong_element_anywhere_is_found(problem: Problem, place: float, how: str) -> None:
    for answer, expected, right in judged(problem):
        at = int(place * (right.size - 1))
        wrong = right.copy()
        wrong.flat[at] = SPOILT[how](right.flat[at : at + 1])[0] * (1000 if problem.name == "reduction" else 1)
        assert not compare(wrong, expected).passed
        assert not answer.holds(wrong)


def test_errors_that_are_all_small_but_too_many_are_found() -> None:
    problem = find("matmul").problem
    ((answer, expected, right),) = judged(problem)
    assert expected.bound is not None
    wrong = (right + 0.9 * expected.bound).astype(np.float32)
    wrong = np.where(np.abs(wrong - expected.values) <= expected.bound, wrong, right)
    assert compare(wrong, expected).norm_only == (not answer.holds(wrong))


def test_without_pieces_everything_is_worked_out_at_once_and_looked_at_in_pieces() -> None:
    calls = []

    def reference(values: Any) -> dict[str, Any]:
        calls.append(len(values["a"]))
        return {"c": values["a"] + values["b"]}

    problem = replace(find("vector_add").problem, pieces="", reference=reference)
    ((answer, _, right),) = judged(problem)
    assert calls == [len(right)] * 2  # once for the answer, once for what it is held against
    assert len(answer.pieces) > 3
    assert answer.holds(right)


def test_a_problem_whose_results_cannot_be_put_together_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"cut along n, total of shape \['1'\] cannot be put together"):
        Problem(
            name="sum", title="", parameters=(array("x", "float32", "n"), array("total", "float32", "1", role="out")),
            reference=lambda v: {"total": v["x"].sum(keepdims=True)}, public=({"n": 1},), observed={"n": 1},
            timed={"n": 1}, largest={"n": 1}, flops="n", bytes="4*n", pieces="n",
        )  # fmt: skip


def test_pieces_must_name_a_size() -> None:
    with pytest.raises(ProblemError, match="pieces = 'k', but the sizes are"):
        replace(find("vector_add").problem, pieces="k")


def test_large_data_is_drawn_in_parts_and_the_same_for_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "_PART", 100)
    problem = find("matmul").problem
    first, second = (generate(problem, odd(problem))["A"] for _ in range(2))
    assert (first == second).all()
    parts = first.reshape(-1)[:1000].reshape(10, 100)
    assert len({part.tobytes() for part in parts}) == 10
    assert first.mean() == pytest.approx(0, abs=0.1)
    assert first.std() == pytest.approx(1, abs=0.1)


def test_sizes_that_scalars_carry_are_those_of_the_piece() -> None:
    seen = []

    def reference(v: Any) -> dict[str, np.ndarray]:
        seen.append((v["n"], v["x"].size))
        return {"y": v["x"]}

    problem = Problem(
        name="copy", title="",
        parameters=(array("x", "float32", "n"), array("y", "float32", "n", role="out"), size("n")),
        reference=reference, public=({"n": 1},), observed={"n": 1}, timed={"n": 1}, largest={"n": 1}, flops="0",
        bytes="8*n", exact=True, pieces="n",
    )  # fmt: skip
    case = Case({"n": 250}, "normal", 0)
    answers(problem, case, generate(problem, case))
    assert sorted(seen) == [(56, 56), (97, 97), (97, 97)]
