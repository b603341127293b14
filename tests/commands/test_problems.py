"""`gridstride problems`: the list of them."""

from __future__ import annotations

from command_line import Run


def test_problems_lists_every_problem_with_its_rungs(run: Run) -> None:
    listed = {each["problem"]: each for each in run("problems", "--json").json["problems"]}
    assert {"matmul", "saxpy", "transpose", "vector_add"} <= set(listed)
    assert listed["matmul"]["rungs"][0] == "01_naive"
    assert "missing_barrier" in listed["matmul"]["wrong"]
    text = run("problems").out
    assert [name for name in listed if name not in text] == []
