"""Proving a problem: what is right passes, what is wrong is told from it, and a problem that cannot is refused."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gridstride.commands.problem import new
from gridstride.judge.cases.case_list import public_cases
from gridstride.judge.find import find, problem_names
from gridstride.judge.problem import ProblemError
from gridstride.judge.proof.imposters import imposters, right_values, round_to
from gridstride.judge.proof.prove import ProofTrial, prove
from gridstride.judge.reference.prepared_cases import prepare


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A problem as `problem new` writes it."""
    assert new("soft", folder=str(tmp_path), as_json=False)
    return tmp_path / "soft"


def edit(folder: Path, old: str, new: str, *, file: str = "problem.py") -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))


def trials(folder: Path) -> dict[str, ProofTrial]:
    return {trial.name: trial for trial in prove(find(folder), device="virtual")}


def test_a_new_problem_can_judge(folder: Path) -> None:
    found = trials(folder)
    assert all(trial.held for trial in found.values())
    assert {"zeros", "a constant", "an input", "off by one", "missing tail", "tf32", "bfloat16"} <= set(found)
    assert {"rungs/01_naive", "wrong/unguarded_tail"} <= set(found)


@pytest.mark.parametrize("name", problem_names())
def test_the_shipped_problems_know_every_imposter(name: str) -> None:
    problem = find(name).problem
    prepared = prepare(problem, public_cases(problem))
    from gridstride.judge.proof.prove import _imposter, _same_again, _same_precision, _sizes

    assert _same_precision(problem, prepared).passed
    assert _sizes(problem).passed
    assert _same_again(problem, prepared).passed
    found = [_imposter(problem, imposter, prepared) for imposter in imposters(problem)]
    one_number = all(p.shape == ("1",) and np.dtype(p.dtype).kind in "iu" for p in problem.outputs)
    assert len([trial for trial in found if trial is not None]) >= (2 if one_number else 4)
    assert [trial.reason for trial in found if trial is not None and trial.passed] == []


def test_the_type_that_products_may_be_made_in_is_no_imposter() -> None:
    names = {name: {each.name for each in imposters(find(name).problem)} for name in ("matmul", "matmul_tf32")}
    assert names["matmul"] - names["matmul_tf32"] == {"tf32"}


def test_an_answer_of_zeros_cannot_be_told_from_a_kernel_that_writes_none(folder: Path) -> None:
    edit(folder, 'return {"y": v["x"] * v["x"] + 1}', 'return {"y": 0.0 * (v["x"] == 0)}')  # of a NaN too
    found = trials(folder)
    assert "zeros" not in found  # right in every case: no imposter
    assert not found["rungs/01_naive"].held


def test_a_tolerance_that_is_too_wide_lets_lower_precision_pass(folder: Path) -> None:
    edit(folder, 'terms="2"', 'terms="100000000"')
    edit(folder, "exact=True", "exact=False")
    trial = trials(folder)["tf32"]
    assert not trial.held
    assert "tolerance is too wide" in trial.reason
    assert "10 fraction bits" in trial.reason


def test_a_tolerance_that_is_too_tight_fails_the_reference_itself(folder: Path) -> None:
    edit(folder, 'return {"y": v["x"] * v["x"] + 1}\n\n\nproblem', 'return {"y": v["x"] * 1e-9}\n\n\nproblem')
    trial = trials(folder)["the reference in the problem's own precision"]
    assert not trial.held
    assert "too tight" in trial.reason


def test_a_wrong_kernel_that_is_right_is_a_trial_that_went_wrong(folder: Path) -> None:
    shutil.copy(folder / "rungs" / "01_naive.cu", folder / "wrong" / "harmless.cu")
    edit(folder, "// grid: ceil(n/256)", "// grid: ceil(n/256)\n// expect: race", file="wrong/harmless.cu")
    trial = trials(folder)["wrong/harmless"]
    assert not trial.held
    assert trial.reason == "race expected, nothing found"


SIZES = 'public=({"n": 1024}, {"n": 1000}, {"n": 4099}, {"n": 1})'
AGAIN = "the reference again, on the same inputs"


def one_trial(folder: Path, name: str) -> ProofTrial:
    """The trial of that name; those after it are not made."""
    return next(trial for trial in prove(find(folder), device="virtual") if trial.name == name)


@pytest.mark.parametrize(
    ("public", "largest", "said"),
    [
        ('{"n": 64}, {"n": 128}', "20_000", "every n is a whole number of warps"),
        ('{"n": 1}, {"n": 1}', "20_000", "add a case such as n=37"),
        ('{"n": 1}, {"n": 37}', "64", "a kernel of one block would pass"),
    ],
)
def test_sizes_that_tell_nothing_are_a_trial_that_went_wrong(
    folder: Path, public: str, largest: str, said: str
) -> None:
    edit(folder, SIZES, f"public=({public})")
    edit(folder, 'largest={"n": 20_000}', f'largest={{"n": {largest}}}')
    trial = one_trial(folder, "sizes that tell kernels apart")
    assert not trial.held
    assert said in trial.reason


def test_squares_alone_are_sizes_that_tell_nothing() -> None:
    from gridstride.judge.proof.prove import _sizes

    problem = find("transpose").problem
    squares = replace(problem, public=({"M": 64, "N": 64}, {"M": 61, "N": 61}))
    assert "M and N are always equal" in _sizes(squares).reason
    assert _sizes(problem).held


def test_a_problem_without_a_rung_has_not_shown_that_a_right_kernel_passes(folder: Path) -> None:
    shutil.rmtree(folder / "rungs")
    trial = trials(folder)["rungs"]
    assert not trial.held
    assert "nothing shows that a right kernel passes" in trial.reason
    assert "rungs/01_naive.cu" in trial.reason


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('noise = np.random.standard_normal(v["x"].shape) * 1e-9', "must not draw random numbers"),
        ('noise = v["x"] * 0\n    v["x"][:] *= 2', "write to its inputs"),
    ],
)
def test_a_reference_that_is_different_the_second_time_is_said(folder: Path, body: str, said: str) -> None:
    edit(folder, "from gridstride.judge.problem", "import numpy as np\nfrom gridstride.judge.problem")
    edit(
        folder,
        'return {"y": v["x"] * v["x"] + 1}\n\n\ndef',
        f'{body}\n    return {{"y": v["x"] ** 2 + noise}}\n\n\ndef',
    )
    trial = one_trial(folder, AGAIN)
    assert not trial.held
    assert said in trial.reason


def test_inputs_that_arrange_draws_from_elsewhere_are_said(folder: Path) -> None:
    edit(folder, "from gridstride.judge.problem", "import numpy as np\nfrom gridstride.judge.problem")
    drawing = 'arrange=lambda v: {"x": np.random.rand(*v["x"].shape).astype("f4")},\n    zeros=("n",),'
    edit(folder, 'zeros=("n",),', drawing)
    assert "x is drawn anew each time" in one_trial(folder, AGAIN).reason


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        ("// expect: out_of_bound", "did you mean out_of_bounds?"),
        ("// expect: wrong_result tial", "did you mean tail?"),
        ("// expect: race tail", "only wrong_result has a pattern"),
        ("// expects: out_of_bounds", "did you mean 'expect'?"),
        ("// it goes wrong", "no line `// expect: …`"),
    ],
)
def test_a_misspelt_expectation_is_a_trial_that_went_wrong(folder: Path, expect: str, said: str) -> None:
    edit(folder, "// expect: out_of_bounds", expect, file="wrong/unguarded_tail.cu")
    found = trials(folder)
    assert not found["wrong/unguarded_tail"].held
    assert said in found["wrong/unguarded_tail"].reason
    assert found["rungs/01_naive"].held


def test_a_rung_whose_header_is_wrong_is_a_trial_that_went_wrong(folder: Path) -> None:
    edit(folder, "// grid: ceil(n/256)", "// gird: ceil(n/256)", file="rungs/01_naive.cu")
    trial = trials(folder)["rungs/01_naive"]
    assert not trial.held
    assert "did you mean 'grid'?" in trial.reason


def test_a_reference_that_raises_is_said_by_name(folder: Path) -> None:
    edit(folder, 'return {"y": v["x"] * v["x"] + 1}\n\n\ndef', 'return {"y": v["z"]}\n\n\ndef')
    with pytest.raises(ProblemError, match=r"soft: the reference fails on line \d+ of problem\.py: KeyError: 'z'"):
        trials(folder)


@pytest.mark.parametrize("bits", [3, 7, 10, 23])
def test_rounding_keeps_so_many_fraction_bits(bits: int) -> None:
    x = np.random.default_rng(0).standard_normal(1000)
    rounded = round_to(x, bits)
    assert isinstance(rounded, np.ndarray)
    assert (abs(rounded - x) <= abs(x) * 2.0 ** -(bits + 1)).all()
    fraction, _ = np.frexp(rounded)
    assert (fraction * 2.0 ** (bits + 1) % 1 == 0).all()
    assert round_to(3, bits) == 3


def test_an_imposter_is_wrong_in_every_case_it_makes(folder: Path) -> None:
    problem = find(folder).problem
    for one in prepare(problem, public_cases(problem)):
        right = right_values(problem, one)["y"]
        for imposter in imposters(problem):
            made = imposter.make(problem, one)
            assert made is None or not np.array_equal(made["y"], right, equal_nan=True), imposter.name
