"""The sizes of drawn cases, for every problem: within its limits, and with strides as wide as their rows."""

from __future__ import annotations

import random

import pytest

from gridstride.judge.cases.drawn_sizes import alone, among, stencil_sizes, vectorisable
from gridstride.judge.cases.sizes import free_sizes
from gridstride.judge.find import find, problem_names


@pytest.mark.parametrize("name", problem_names())
def test_sizes_are_the_problem_s_in_its_order_and_within_its_limits(name: str) -> None:
    problem, draw = find(name).problem, random.Random(7)
    limits = free_sizes(problem)
    for sizes in (among(draw, problem, {}), alone(draw, problem, {}), vectorisable(draw, problem)):
        assert list(sizes) == list(problem.largest)
        assert all(1 <= sizes[size] <= limit for size, limit in limits.items())
        assert all(sizes[stride] >= sizes[width] for stride, width in problem.strides.items())


@pytest.mark.parametrize("name", ["matmul", "softmax", "vector_add"])
def test_what_is_chosen_stays(name: str) -> None:
    problem, draw = find(name).problem, random.Random(8)
    first = next(iter(free_sizes(problem)))
    assert among(draw, problem, {first: 5})[first] == 5
    assert alone(draw, problem, {first: 5})[first] == 5


def test_beside_one_alone_the_others_are_next_to_nothing() -> None:
    problem, draw = find("matmul").problem, random.Random(9)
    sizes = [alone(draw, problem, {"M": 999}) for _ in range(50)]
    assert all(each["M"] == 999 and each["N"] <= 3 for each in sizes)
    assert min(each["K"] for each in sizes) == 2  # terms of a sum: of one alone every place would hold the same


def test_vectors_fit_and_warps_mostly_do_not() -> None:
    problem, draw = find("vector_add").problem, random.Random(10)
    sizes = [vectorisable(draw, problem)["n"] for _ in range(50)]
    assert all(n % 8 == 0 for n in sizes)
    assert sum(n % 32 != 0 for n in sizes) > 25


def test_a_small_size_at_its_largest_lies_within_the_others() -> None:
    problem = find("convolution").problem
    name, most = next(iter(problem.widest.items()))
    sizes = stencil_sizes(random.Random(11), problem, name)
    assert sizes[name] == most
    assert all(sizes[other] > 2 * most or sizes[other] == limit
               for other, limit in free_sizes(problem).items() if other != name)  # fmt: skip
