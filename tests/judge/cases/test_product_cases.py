"""The cases at which a kernel's products of 32 bits wrap."""

from __future__ import annotations

import random

import pytest

from gridstride.judge.cases.product_cases import product_cases
from gridstride.judge.cases.size_products import SizeProduct
from gridstride.judge.find import find
from gridstride.judge.header import SymbolicLaunch

SHARE = ("p0", "g0", "mul.s64")


def sizes(problem: str, grid: str, *most: str | int) -> list[dict[str, int]]:
    launch, products = SymbolicLaunch((grid,), ("256",)), [SizeProduct(1, most)] if most else []
    return [dict(case.sizes) for case in product_cases(find(problem).problem, launch, products, random.Random(1))]


@pytest.mark.parametrize(("grid", "n"), [("2*SMS", 1 << 25), ("1024", 1 << 23), ("48", 1 << 26)])
def test_they_are_at_the_largest_sizes_and_the_smallest_where_a_product_surely_wraps(grid: str, n: int) -> None:
    assert [each["n"] for each in sizes("saxpy", grid, *SHARE)] == sorted({1 << 26, n}, reverse=True)


def test_where_little_is_written_little_is_left_of_what_is_read() -> None:
    assert sizes("argmax", "1", "p2", 1024, "mul.s64") == [{"n": 1 << 27}, {"n": 1 << 25}]


def test_where_none_wraps_there_is_none() -> None:
    assert sizes("saxpy", "8", *SHARE) == []
    assert sizes("saxpy", "2*SMS") == []


def test_where_the_answer_takes_too_much_work_it_is_smaller() -> None:
    found, *_ = sizes("matmul", "8388608", "p3", "g0", "mul.s64")
    assert 2 * found["M"] * found["N"] * found["K"] <= 1 << 31
