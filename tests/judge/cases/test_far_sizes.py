"""Sizes past the numbers of a kernel's own, and long rows that a block takes in turns."""

from __future__ import annotations

import random

import pytest

from gridstride.judge.cases.far_sizes import far_cases, far_constants, far_sizes, usual_far_sizes
from gridstride.judge.cases.sizes import persistent
from gridstride.judge.find import find
from gridstride.judge.header import SymbolicLaunch

ARGMAX, ADD, GELU, SOFTMAX = (find(name).problem for name in ("argmax", "vector_add", "gelu", "softmax"))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("setp.gt.s32 %p1, %r1, 67108864;", (67108864,)),
        ("and.b32 %r2, %r1, 16777215;", (16777215, 16777216)),
        ("and.b32 %r2, %r1, 0xFFFFFF;", (16777215, 16777216)),
        ("and.b32 %r2, %r1, 33553408;", (33553408, 33554432)),  # 25 bits, the lowest ten left out
        ("add.f32 %f2, %f1, 0f4B000000;", (8388608,)),  # 2^23: numbers below it are a float's mantissa
        ("add.f32 %f2, %f1, 0f4B400000;", ()),  # 1.5 · 2^23: expf rounds by it
        ("mul.f32 %f2, %f1, 0f3F8CCCCD;", ()),
        ("add.s32 %r2, %r1, 4096;", ()),
        (".loc 1 16777215 3", ()),
        ("mov.b32 %r1, -1431655765;", (1431655765,)),
    ],
)
def test_numbers_of_a_text_that_a_size_may_pass(line: str, found: tuple[int, ...]) -> None:
    assert far_constants(f"\t{line}\n") == found


def test_a_size_past_a_number_is_run_and_one_beyond_the_timed_size_is_not() -> None:
    launch = SymbolicLaunch(("ceil(n/256)", "1", "1"), ("256", "1", "1"))
    assert [*far_sizes(ARGMAX, launch, (1 << 24, 1 << 30))] == [("n", 1 << 24)]
    (case,) = far_cases(ARGMAX, launch, (1 << 24,), random.Random(0))
    assert case.once
    assert case.sizes["n"] > 1 << 26  # four times as far: the largest element is mostly behind the number


def test_a_grid_that_stops_to_grow_has_a_size_past_its_end() -> None:
    capped = SymbolicLaunch(("min(ceil(n/256), 65535)", "1", "1"), ("256", "1", "1"))
    ((name, size),) = far_sizes(ADD, capped, ())
    assert (name, size // 1000) == ("n", 18873)  # 65,534 blocks and an eighth more
    assert not [*far_sizes(ADD, SymbolicLaunch(("ceil(n/256)", "1", "1"), ("256", "1", "1")), ())]
    assert not [*far_sizes(ADD, SymbolicLaunch(("8*SMS", "1", "1"), ("256", "1", "1")), ())]


def test_a_large_grid_of_a_fixed_number_is_run_far_behind_the_usual_sizes() -> None:
    """It covers what it covers, whatever the size; one block would take its time over so many elements."""
    fixed = SymbolicLaunch(("16384", "1", "1"), ("256", "1", "1"))
    assert [*far_sizes(ADD, fixed, ())] == [("n", ADD.timed["n"] // 8)]
    assert not [*far_sizes(ADD, SymbolicLaunch(("1", "1", "1"), ("256", "1", "1")), ())]


def test_more_blocks_than_a_block_has_threads_are_met() -> None:
    """Whoever joins them with a thread for each has lost the others."""
    long = SymbolicLaunch(("ceil(n/4096)", "1", "1"), ("256", "1", "1"))
    assert [*far_sizes(ADD, long, ())] == [("n", 1024 * 4096 + 1)]


def test_what_takes_more_than_a_gigabyte_is_left_out() -> None:
    launch = SymbolicLaunch(("ceil(n/256)", "1", "1"), ("256", "1", "1"))
    assert [end for _, end in far_sizes(GELU, launch, (1 << 26, 1 << 27))] == [1 << 26]


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("nbody", 1 << 17, (1 << 18) + 1024),  # whatever ends at 131,072
        ("fft", 600, 1024),  # rows of 4,096 numbers, of which a case has four million
    ],
)
def test_sizes_below_which_numbers_of_a_text_say_nothing_are_run_once(name: str, least: int, most: int) -> None:
    problem, launch = find(name).problem, SymbolicLaunch(("512", "1", "1"), ("256", "1", "1"))
    (case,) = far_cases(problem, launch, (), random.Random(3))
    size = max(case.sizes.values())
    assert case.once
    assert least < size <= most
    assert max(problem.widest.values()) < size


def test_no_size_is_added_where_another_case_goes_as_far() -> None:
    assert not [*usual_far_sizes(ADD, random.Random(0)), *usual_far_sizes(SOFTMAX, random.Random(0))]


def test_long_rows_are_taken_in_several_turns_on_one_multiprocessor() -> None:
    turns = persistent(SOFTMAX, SymbolicLaunch(("min(rows, 4*SMS)", "1", "1"), ("256", "1", "1")))
    assert {"rows": 12, "columns": SOFTMAX.widest["columns"]} in turns
    assert persistent(SOFTMAX, SymbolicLaunch(("rows", "1", "1"), ("256", "1", "1"))) == []
