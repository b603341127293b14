"""Where a kernel's text decides by a size: what is read from its PTX, and what the judge then runs it on."""

from __future__ import annotations

import pytest

import gridstride as gs
from gridstride.judge.cases import all_cases, kernel_cases
from gridstride.judge.coverage import branches, coverage
from gridstride.judge.data import kinds
from gridstride.judge.find import find
from gridstride.judge.header import parse_kernel
from gridstride.judge.kernel_facts import KernelFacts
from gridstride.judge.sandbox.records import MalformedError, facts_of, facts_words
from gridstride.judge.size_conditions import SizeCondition, changes, size_conditions

MOST = 3_000_000


def read(condition: str, parameters: str = "int n, long long m, unsigned k") -> list[SizeCondition]:
    """What is found of `if (condition)` in a kernel of these parameters behind an array."""
    ptx = gs.cuda(f"__global__ void f(float* x, {parameters}) {{ if ({condition}) x[threadIdx.x] = 1; }}").ptx
    return list(size_conditions(ptx))


def sizes(condition: str) -> list[list[int]]:
    """Where each one found changes, all three numbers being the same."""
    return [changes(lambda v, c=each: c.holds(dict.fromkeys((1, 2, 3), v)), MOST) for each in read(condition)]  # type: ignore[misc]


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


@pytest.mark.parametrize("condition", ["threadIdx.x > 100", "x[0] > 100.f", "n % 4 == 0", "threadIdx.x + n > 1000"])
def test_what_hangs_on_threads_or_memory_or_is_no_order_is_not(condition: str) -> None:
    assert sizes(condition) == []


def test_whole_numbers_wrap_as_registers_do() -> None:
    inside = SizeCondition(("p0", -513, "add32"), "lt", "u32", 1000)
    assert [inside.holds({0: n}) for n in (512, 513, 1512, 1513)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("expression", "comparison", "type_"),
    [
        ((), "lt", "s32"),
        (("p0", "p1"), "lt", "s32"),
        (("add32",), "lt", "s32"),
        (("p0", 1, "pow32"), "lt", "s32"),
        (("p100",), "lt", "s32"),
        (("p0", *(1, "add32") * 20), "lt", "s32"),
        (("p0",), "eq", "s32"),
        (("p0",), "lt", "f32"),
    ],
)
def test_what_is_no_condition_is_refused(expression: tuple[int | str, ...], comparison: str, type_: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        SizeCondition(expression, comparison, type_, 0)


def test_conditions_come_out_of_the_sandbox_as_they_went_in() -> None:
    facts = KernelFacts(conditions=(SizeCondition(("p3", 2, "shr32"), "gt", "s32", 8192),))
    assert facts_of(facts_words(facts)) == facts


@pytest.mark.parametrize(
    "condition", [["p0", "lt", "s32", 1], [["p0", "x"], "lt", "s32", 1], [["p0"], "lt", "s32", "1"], [[]]]
)
def test_a_worker_that_sends_anything_else_is_malformed(condition: list[object]) -> None:
    words = {**facts_words(KernelFacts()), "conditions": [condition]}
    with pytest.raises(MalformedError):
        facts_of(words)


def test_arguments_in_another_place_are_followed_and_others_left_out() -> None:
    condition = SizeCondition(("p1",), "gt", "s32", 100)
    moved = condition.moved((None, 3))
    assert moved is not None
    assert moved.parameters == {3}
    assert condition.moved((0, None)) is None
    assert condition.moved((0,)) is None


def test_both_sides_are_run_with_every_kind_of_data_tail_and_place() -> None:
    problem = find("gelu").problem
    conditions = (SizeCondition(("p2",), "gt", "s32", 131072), SizeCondition(("p2",), "gt", "s32", 1000))
    found = branches(problem, conditions)
    assert [(each.first > 131072, each.first > 1000) for each in found] == [(True, True), (False, True), (False, False)]
    launch = parse_kernel("// grid: ceil(n/256)\n// block: 256\n__global__ void gelu() {}").launch
    assert launch is not None
    cases = (
        *all_cases(problem, seed=3),
        *kernel_cases(problem, launch, float_index=False, conditions=conditions, seed=3),
    )
    assert coverage(problem, cases, launch, conditions=conditions).missing == ()
    large = [case for case in cases if case.sizes["n"] > 131072]
    assert {case.data for case in large} == set(kinds(problem))
    assert {case.sizes["n"] % 4 for case in large} == {0, 1, 2, 3}


def test_a_kernel_that_was_not_run_there_lacks_it() -> None:
    problem = find("gelu").problem
    conditions = (SizeCondition(("p2",), "gt", "s32", 131072),)
    missing = coverage(problem, all_cases(problem, seed=3), conditions=conditions).missing
    assert {each.group for each in missing} == {"branch"}
