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


def test_who_has_nowhere_to_count_together_gets_more_than_a_counter_of_16_bits_holds() -> None:
    """Once, and of any data: nothing meets in one place."""
    problem, launch = find("vector_add").problem, SymbolicLaunch(("2*SMS",), ("256",))
    made = kernel_cases(problem, launch, KernelText(tallies=False), seed=2)
    (alone,) = (case for case in made if case.multiprocessors == 1 and case.sizes["n"] > problem.largest["n"])
    assert 1 << 16 < alone.sizes["n"] / 2 < 1 << 17
    assert alone.data == "normal"


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


def test_blocks_take_several_rows_of_eights_where_no_usual_size_has_as_many_rows_as_blocks() -> None:
    """What a block leaves of one row for the next shows in rows that can be read in vectors, and in others."""
    problem = find("silu_mul").problem
    bounded, free = (SymbolicLaunch((grid,), ("64",)) for grid in ("min(N, 8*SMS)", "N"))
    made = kernel_cases(problem, bounded, KernelText(), seed=3)
    several = [case.sizes["H"] for case in made if case.multiprocessors == 1 and case.sizes["N"] == 72]
    assert len(several) == 4
    assert [width % 8 for width in several[:3]] == [0, 0, 0]
    assert several[0] <= 256
    assert not [case for case in kernel_cases(problem, free, KernelText(), seed=3) if case.multiprocessors == 1]
