"""The addresses in the picture are those that the lanes touch, and tell the same as the counters."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pytest

from gridstride.judge.cases.data import generate
from gridstride.judge.execution.access_map import WarpAccess
from gridstride.judge.execution.runnable import Runnable, build
from gridstride.judge.find import find
from gridstride.judge.problem import Case, Problem
from gridstride.virtual.gpu import VirtualGPU


@cache
def touched(problem: str, number: int) -> tuple[WarpAccess, ...]:
    folder = find(problem)
    file = folder.rungs()[number - 1]
    lines = range(1, len(file.source.splitlines()) + 1)
    return looked_at(folder.problem, build(folder.problem, file, VirtualGPU("h200")), lines)


def looked_at(problem: Problem, runnable: Runnable, lines: Iterable[int]) -> tuple[WarpAccess, ...]:
    case = Case(problem.observed, "normal", 1)
    return runnable.accesses(problem.signature, case, generate(problem, case), lines)


def test_lanes_that_read_a_row_lie_side_by_side() -> None:
    read = next(a for a in touched("transpose", 1) if not a.writes)
    assert read.array == "in"
    assert [b - a for a, b in zip(read.on, read.on[1:], strict=False)] == [4] * 31
    assert len(read.sectors) == 4


def test_lanes_that_write_a_column_lie_a_row_apart() -> None:
    write = next(a for a in touched("transpose", 1) if a.writes)
    rows = find("transpose").problem.observed["M"]
    assert write.array == "out"
    assert [b - a for a, b in zip(write.on, write.on[1:], strict=False)] == [4 * rows] * 31
    assert len(write.sectors) == 32


@pytest.mark.parametrize(("number", "passes"), [(2, 32), (3, 1), (4, 4)])
def test_passes_over_the_banks_are_those_of_the_rung(number: int, passes: int) -> None:
    reads = [a for a in touched("transpose", number) if a.space == "shared" and not a.writes]
    assert {a.passes for a in reads} == {passes}


def test_lanes_that_are_off_have_no_address() -> None:
    write = next(a for a in touched("reduction", 4) if a.array == "total")
    assert write.on == (0,)
    assert write.addresses[1:] == (None,) * 31


def test_sixteen_bytes_for_each_lane_take_four_passes_at_best() -> None:
    access = WarpAccess(1, "shared", 16, False, "", tuple(16 * lane for lane in range(32)))
    assert access.passes == 4


def test_a_line_without_accesses_has_no_picture() -> None:
    folder = find("transpose")
    runnable = build(folder.problem, folder.rungs()[0], VirtualGPU("h200"))
    assert looked_at(folder.problem, runnable, [1]) == ()
