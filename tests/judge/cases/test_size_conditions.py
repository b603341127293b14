"""Where a kernel's text decides by a size: what is read from its PTX, and what the judge then runs it on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridstride as gs
from gridstride.judge.cases.branches import Combination, branches
from gridstride.judge.cases.case_list import all_cases
from gridstride.judge.cases.coverage import coverage
from gridstride.judge.cases.data import kinds
from gridstride.judge.cases.kernel_cases import KernelText, kernel_cases
from gridstride.judge.cases.size_conditions import SizeCondition, changes, size_conditions
from gridstride.judge.execution.kernel_facts import KernelFacts
from gridstride.judge.find import find
from gridstride.judge.header import SymbolicLaunch, parse_kernel
from gridstride.judge.problem import Problem
from gridstride.judge.sandbox.checked_words import MalformedError
from gridstride.judge.sandbox.records import facts_of, facts_words

MOST = 3_000_000


def read(condition: str, parameters: str = "int n, long long m, unsigned k") -> list[SizeCondition]:
    """What is found of `if (condition)` in a kernel of these parameters behind an array."""
    ptx = gs.cuda(f"__global__ void f(float* x, {parameters}) {{ if ({condition}) x[threadIdx.x] = 1; }}").ptx
    return list(size_conditions(ptx))


def truth(condition: SizeCondition, *numbers: int) -> list[bool]:
    """Whether it holds for each number, all parameters being the same; a grid and a block are of as many."""
    values = np.array(numbers, np.int64)
    return [bool(each) for each in condition.true_of(dict.fromkeys(condition.variables, values))]


def sizes(condition: str) -> list[list[int]]:
    """Where each one found changes, all three numbers being the same."""
    return [changes(partial(lambda each, v: truth(each, v)[0], found), MOST) for found in read(condition)]


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("(n ^ 12345) - 1", 12345),
        ("(777 ^ n) - 1", 777),
        ("(n - 12345) | (12345 - n)", 12345),
        ("m - 70000", 70000),
        ("n + 12345", None),
        ("n - 5", None),
        ("n * 3 - 600", None),
        ("(n ^ k) - 1", None),
        ("(int)threadIdx.x - 500", None),
    ],
)
def test_what_is_zero_for_one_size_alone_is_as_good_as_a_comparison(value: str, size: int | None) -> None:
    ptx = gs.cuda(f"__global__ void f(long long* x, int n, long long m, unsigned k) {{ x[0] = {value}; }}").ptx
    found = list(size_conditions(ptx))
    assert {(each.comparison, *each.right) for each in found} == ({("eq", size)} if size else set())
    for each in found:
        assert truth(each, size or 0, (size or 0) + 1) == [True, False]


@pytest.mark.parametrize(
    ("condition", "after"),
    [
        ("n > 65536", [65536]),
        ("n >= 65536", [65535]),
        ("m < 131072", [131071]),
        ("n / 4 > 1000", [4003]),
        ("k * k > 1000000u", [1000]),
        ("n * 3 + 5 > 3005", [1000]),
        ("(m << 2) >= 4096", [1023]),
        ("k > 512u && k <= 2048u", [512, 2048]),
    ],
)
def test_a_comparison_of_sizes_with_a_constant_is_found(condition: str, after: list[int]) -> None:
    assert sorted({size for each in sizes(condition) for size in each}) == after


@pytest.mark.parametrize("condition", ["threadIdx.x > 100", "x[0] > 100.f", "threadIdx.x + n > 1000"])
def test_what_hangs_on_threads_or_memory_is_not(condition: str) -> None:
    assert read(condition) == []


@pytest.mark.parametrize(
    ("condition", "meant"),
    [
        ("n % 4 == 0", lambda n: n % 4 == 0),
        ("n % 3 == 1", lambda n: n % 3 == 1),
        ("k % 7 != 2", lambda n: n % 7 != 2),
        ("m % 1000 == 7", lambda n: n % 1000 == 7),
        ("(n & (n - 1)) == 0", lambda n: n & (n - 1) == 0),
        ("__popc(k) == 2", lambda n: n.bit_count() == 2),
        ("(n ^ 5) < (k | 64)", lambda n: (n ^ 5) < (n | 64)),
        ("(long long)n * (int)k > 200000", lambda n: n * n > 200000),
        ("n * (int)k < m * 100", lambda n: n < 100),
        ("(unsigned long long)m % 1000003 > 500", lambda n: n % 1000003 > 500),
        ("n / k * 100 + m / 5 > 300", lambda n: 100 + n // 5 > 300),
        ("-n < -500", lambda n: n > 500),
        ("gridDim.x * blockDim.x > 10000u", lambda n: n * n > 10000),
        ("min(n, 300) == 300", lambda n: n >= 300),
    ],
)
def test_whole_number_arithmetic_is_followed(condition: str, meant: Callable[[int], bool]) -> None:
    numbers = [1, 2, 3, 4, 5, 8, 99, 100, 101, 300, 447, 448, 512, 1000, 1003, 1007, 2007, 20000]
    (found,) = read(condition)
    assert truth(found, *numbers) in ([meant(n) for n in numbers], [not meant(n) for n in numbers])


def test_whole_numbers_wrap_as_registers_do() -> None:
    inside = SizeCondition(("p0", -513, "add.s32"), "lt", "u32", (1000,))
    assert truth(inside, 512, 513, 1512, 1513) == [False, True, True, False]
    square = SizeCondition(("p0", "p0", "mul.s32"), "gt", "s32", (0,))
    assert truth(square, 46340, 46341) == [True, False]


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_the_high_half_of_a_product(a: int, b: int) -> None:
    for kind, bits in (("s64", 64), ("u64", 0)):
        x, y = (a, b) if bits else (a % 2**64, b % 2**64)
        half = SizeCondition((a, b, f"hi.{kind}"), "eq", "u64", ((x * y >> 64) % 2**64,))
        assert half.true_of({}).all()


@pytest.mark.parametrize(
    ("expression", "comparison", "type_"),
    [
        ((), "lt", "s32"),
        (("p0", "p1"), "lt", "s32"),
        (("add.s32",), "lt", "s32"),
        (("p0", 1, "pow.s32"), "lt", "s32"),
        (("p100",), "lt", "s32"),
        (("p0", *(1, "add.s32") * 20), "lt", "s32"),
        (("p0", 1, "add"), "lt", "s32"),
        (("p0",), "un", "s32"),
        (("p0",), "lt", "f32"),
    ],
)
def test_what_is_no_condition_is_refused(expression: tuple[int | str, ...], comparison: str, type_: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        SizeCondition(expression, comparison, type_, (0,))
    with pytest.raises(ValueError, match="is no"):
        SizeCondition((0,), comparison, type_, expression)


def test_conditions_come_out_of_the_sandbox_as_they_went_in() -> None:
    facts = KernelFacts(conditions=(SizeCondition(("p3", 2, "shr.s32"), "gt", "s32", (8192, "g0", "mul.s32")),))
    assert facts_of(facts_words(facts)) == facts


@pytest.mark.parametrize(
    "condition", [["p0", "lt", "s32", [1]], [["p0", "x"], "lt", "s32", [1]], [["p0"], "lt", "s32", 1], [[]]]
)
def test_a_worker_that_sends_anything_else_is_malformed(condition: list[object]) -> None:
    words = {**facts_words(KernelFacts()), "conditions": [condition]}
    with pytest.raises(MalformedError):
        facts_of(words)


def test_arguments_in_another_place_are_followed_and_others_left_out() -> None:
    condition = SizeCondition(("p1",), "gt", "s32", (100,))
    moved = condition.moved((None, 3))
    assert moved is not None
    assert moved.variables == {"p3"}
    assert condition.moved((0, None)) is None
    assert condition.moved((0,)) is None


def test_both_sides_are_run_with_every_kind_of_data_tail_and_place() -> None:
    problem = find("gelu").problem
    conditions = (SizeCondition(("p2",), "gt", "s32", (131072,)), SizeCondition(("p2",), "gt", "s32", (1000,)))
    found = branches(problem, conditions)
    assert [(each.first > 131072, each.first > 1000) for each in found] == [(True, True), (False, True), (False, False)]
    launch = parse_kernel("// grid: ceil(n/256)\n// block: 256\n__global__ void gelu() {}").launch
    assert launch is not None
    cases = (
        *all_cases(problem, seed=3),
        *kernel_cases(problem, launch, KernelText(conditions=conditions), seed=3),
    )
    assert coverage(problem, cases, launch, conditions=conditions).missing == ()
    large = [case for case in cases if case.sizes["n"] > 131072]
    assert {case.data for case in large} == set(kinds(problem))
    assert {case.sizes["n"] % 4 for case in large} == {0, 1, 2, 3}


def test_a_kernel_that_was_not_run_there_lacks_it() -> None:
    problem = find("gelu").problem
    conditions = (SizeCondition(("p2",), "gt", "s32", (131072,)),)
    missing = coverage(problem, all_cases(problem, seed=3), conditions=conditions).missing
    assert {each.group for each in missing} == {"branch"}


def combined() -> tuple[Problem, SymbolicLaunch, tuple[SizeCondition, ...]]:
    launch = parse_kernel("// grid: ceil(N/32) ceil(M/8)\n// block: 32 8\n__global__ void transpose() {}").launch
    assert launch is not None
    return find("transpose").problem, launch, tuple(read("k % 16 == 0 && n > 40 && n % 3 == 0", "int i, int n, int k"))


def test_sizes_are_found_at_which_several_conditions_hold_together() -> None:
    problem, launch, conditions = combined()
    cases = [
        case for case in kernel_cases(problem, launch, KernelText(conditions=conditions), seed=5)
        if case.sizes["N"] % 16 == 0 and case.sizes["M"] > 40 and case.sizes["M"] % 3 == 0
    ]  # fmt: skip
    assert {case.data for case in cases} == set(kinds(problem))
    assert {frozenset(case.offsets) for case in cases} >= {frozenset({"in"}), frozenset({"out"})}
    seen = coverage(problem, [*all_cases(problem, seed=5), *cases], launch, conditions=conditions)
    assert any("sizes as" in each.name and many for each, many in seen.counts.items())


def test_what_the_usual_sizes_meet_needs_no_cases_of_its_own() -> None:
    problem, launch, _ = combined()
    assert branches(problem, read("k > n", "int i, int n, int k"), launch) == []


def test_conditions_on_a_grid_are_asked_of_the_launch() -> None:
    problem, launch, _ = combined()
    found = branches(problem, read("gridDim.x > gridDim.y * 7 && k % 5 == 0", "int i, int n, int k"), launch)
    members = [each.members for each in found if isinstance(each, Combination)]
    met = [{(-(-m["N"] // 32) > -(-m["M"] // 8) * 7, m["N"] % 5 == 0) for m in each} for each in members]
    assert {(True, True)} in met
    assert all(len(each) == 1 for each in met)
