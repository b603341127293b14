"""Figures of a run: what may be named besides its counters."""

from __future__ import annotations

import pytest

from gridstride.course.content import day
from gridstride.course.figures.figures import counted, element_names, elements, observe, of_run


def test_blocks_and_threads_are_those_of_the_launch_in_all_of_its_directions() -> None:
    figures = of_run(observe(day(4).runs["who"]))
    assert (figures["blocks"], figures["threads"]) == (4, 256)


def test_active_blocks_are_those_that_fit_however_small_the_grid() -> None:
    figures = of_run(observe(day(10).runs["narrow"]))  # 2,048 blocks of one warp for 132 multiprocessors
    assert (figures["max_active_blocks"], figures["resident_warps"]) == (32, 16)


def test_instructions_of_float64_are_those_of_all_its_kinds() -> None:
    figures = of_run(observe(day(8).runs["as_printed"]))
    assert figures["double_instructions"] == 9 * 65536 / 32  # eight multiply-adds and a multiplication


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (1, "barriers for each warp", "1 barrier for each warp"),
        (9, "barriers for each warp", "9 barriers for each warp"),
        (1, "passes over the banks", "1 pass over the banks"),
        (1, "sectors per load request", "1 sector per load request"),
        (1, "times the sectors that the bytes fill", "1 times the sectors that the bytes fill"),
        (1, "late launches", "1 late launch"),
        (1, "pairs that nothing orders", "1 pair that nothing orders"),
        (1, "nodes added to graphs", "1 node added to graphs"),
        (1, "TB/s", "1 TB/s"),
        (1.5, "threads", "1.5 threads"),
    ],
)
def test_one_thing_is_counted_in_the_singular(value: float, unit: str, said: str) -> None:
    assert counted(value, unit) == said


def test_figures_may_name_what_a_run_left_in_its_small_arrays() -> None:
    run = day(32).runs["counting"]
    assert element_names(run) == {"last_0", "last_1"}
    assert elements(run) == {"last_0": 2048, "last_1": 5000}


def test_large_arrays_have_no_elements_to_name() -> None:
    assert element_names(day(26).runs["halo_8"]) == {f"weights_{i}" for i in range(25)}
