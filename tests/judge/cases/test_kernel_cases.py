"""Which cases a kernel's own launch asks for: next to its tiles, with crowded blocks, behind what it keeps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gridstride.judge.cases.kernel_cases import KernelText, kernel_cases
from gridstride.judge.find import find
from gridstride.judge.header import SymbolicLaunch
from gridstride.judge.problem import Problem


@pytest.mark.parametrize(("grid", "alone"), [("2*SMS", {("normal", 1), ("equal", 1)}), ("ceil(n/256)", set())])
def test_a_block_gets_as_much_work_as_there_is_room_for(grid: str, alone: set[tuple[str, int]]) -> None:
    """Where the grid does not grow with the size: what a block counts goes as far as it can."""
    problem = find("vector_add").problem
    made = kernel_cases(problem, SymbolicLaunch((grid,), ("256",)), KernelText(), seed=2)
    near = [case for case in made if case.sizes["n"] > problem.widest["n"] * 15 // 16 and case.multiprocessors == 1]
    assert {(case.data, case.multiprocessors) for case in near} == alone


def test_a_kernels_own_cases_lie_next_to_its_tiles(doubling: Problem) -> None:
    cases = kernel_cases(doubling, SymbolicLaunch(("ceil(n/24)",), ("24",)), KernelText(), seed=3)
    assert {case.sizes["n"] % 24 for case in cases} == {0, 1, 2, 3, 23}


def test_one_case_has_whole_tiles_and_nothing_else_and_so_has_each_with_an_empty_size() -> None:
    matmul, launch = find("matmul").problem, SymbolicLaunch(("ceil(N/48)", "ceil(M/24)"), ("32", "8"))
    sizes = [dict(case.sizes) for case in kernel_cases(matmul, launch, KernelText(), seed=3)]
    whole = [each for each in sizes if each["M"] % 24 == each["N"] % 48 == each["K"] % 32 == 0]
    assert [each["K"] == 0 for each in whole] == [False, True]
    assert all(each["M"] and each["N"] for each in whole)


def test_a_kernel_whose_indices_may_be_floats_is_run_where_floats_are_not_exact(doubling: Problem) -> None:
    huge = replace(doubling, widest={"n": (1 << 24) + 100})
    launch = SymbolicLaunch(("ceil(n/256)",), ("256",))
    assert [c.sizes["n"] > 1 << 24 for c in kernel_cases(huge, launch, KernelText(float_index=True), seed=3)] == [True]
    assert kernel_cases(huge, launch, KernelText(), seed=3) == ()


def test_what_a_kernel_may_keep_is_met_behind_one_small_launch_and_behind_three(doubling: Problem) -> None:
    launch = SymbolicLaunch(("ceil(n/24)",), ("24",))
    usual = kernel_cases(doubling, launch, KernelText(), seed=3)
    more = kernel_cases(doubling, launch, KernelText(keeps=True), seed=3)[len(usual) :]
    small = [case.sizes["n"] <= 24 for case in more]
    assert small == [False, True, False, False, True, False, False, True, True, True, False]
    assert [number for number, case in enumerate(more) if case.swapped] == [2, 5, 10]
    assert [more[number].order for number in (2, 5, 10)] == ["reversed", "in step", "reversed"]
    assert len({case.sizes["n"] for case in more if case.sizes["n"] > 24}) == 1
    assert all(case.once and not case.fresh for case in more)
