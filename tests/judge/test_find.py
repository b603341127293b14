"""Problems by name and by folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridstride.judge.find import find, problem_names
from gridstride.judge.ladder import climb
from gridstride.judge.problem import ProblemError
from gridstride.virtual.gpu import VirtualGPU

PROBLEM = """
from gridstride.judge.problem import Problem, array, size
problem = Problem(
    name="mine", title="Mine", parameters=(array("y", "float32", "n", role="out"), size("n")),
    reference=lambda v: {"y": v["n"]}, public=({"n": 1},), largest={"n": 9}, observed={"n": 1}, timed={"n": 1},
    flops="0", bytes="4*n",
)
"""


def test_a_shipped_problem_is_found_by_name() -> None:
    assert find("matmul").problem.name == "matmul"
    assert "matmul" in problem_names()


def test_a_folder_of_ones_own_is_found_by_path(tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text(PROBLEM)
    folder = find(tmp_path)
    assert folder.problem.title == "Mine"
    assert folder.rungs() == ()


@pytest.mark.parametrize(
    ("name", "hint"), [("matmull", "did you mean matmul?"), ("xyzzy", "there are adamw, aos_to_soa,")]
)
def test_an_unknown_problem_is_refused_with_what_there_is(name: str, hint: str) -> None:
    with pytest.raises(ProblemError) as refused:
        find(name)
    assert hint in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "has no `problem = Problem"),
        ("1 / 0", "does not load: ZeroDivisionError"),
        ("def (", "does not load: SyntaxError"),
        ("import sys\nsys.exit(0)", "does not load: SystemExit: 0"),
        (PROBLEM.replace('bytes="4*n"', 'bytes="4*q"'), "problem mine: bytes: q in 4*q"),
        (PROBLEM.replace('bytes="4*n"', "bytes=4"), "problem mine: bytes is 4: write"),
        (PROBLEM.replace('flops="0"', 'flops="0", terms="n - 1"'), "problem mine: terms n - 1 is 0 for n=1, at least"),
        (PROBLEM.replace('({"n": 1},)', "()"), "problem mine: public must be a tuple of sizes"),
        (PROBLEM.replace('({"n": 1},)', '{"n": 1}'), "problem mine: public must be a tuple of sizes"),
        (PROBLEM.replace('({"n": 1},)', "(1,)"), 'problem mine: public[0] is 1, sizes are needed: {"n": 64}'),
        (PROBLEM.replace('({"n": 1},)', '({"n": 1.5},)'), "problem mine: public[0] has n=1.5, a whole number"),
        (PROBLEM.replace('{"n": 9}', '{"n": 0}'), "problem mine: largest has n=0, at least 1 is needed"),
        (PROBLEM.replace('role="out"', 'role="output"'), "problem mine: y has role 'output': use one of in, out,"),
        (PROBLEM.replace("float32", "floot32"), "problem mine: y: data type 'floot32' not understood"),
        (PROBLEM.replace('"mine"', '"../mine"'), "a problem has no name '../mine'"),
    ],
)
def test_a_problem_file_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "problem.py").write_text(text)
    with pytest.raises(ProblemError) as refused:
        find(tmp_path)
    assert message in str(refused.value)


def test_a_folder_without_a_problem_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"without a problem\.py"):
        find(tmp_path)


@pytest.mark.parametrize("wanted", ["05_register_tile_2d", "register_tile_2d", "05", "5"])
def test_rungs_are_picked_by_name_or_number(wanted: str) -> None:
    ladder = climb(find("matmul"), device=VirtualGPU(), rungs=[wanted])
    assert [file.name for file in ladder.files] == ["05_register_tile_2d"]


def test_an_unknown_rung_is_refused_with_the_nearest() -> None:
    with pytest.raises(ProblemError, match=r"no rung '02_coalesce': did you mean 02_coalesced\?"):
        climb(find("matmul"), device=VirtualGPU(), rungs=["02_coalesce"])
