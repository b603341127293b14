"""The steps of a loop are found by what the program marks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from profile_traces import note, operator, write

from gridstride.profile.steps import Steps, steps
from gridstride.profile.trace import read

LOADING = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def of(tmp_path: Path, events: list[dict[str, Any]]) -> Steps:
    return steps(read(write(tmp_path / "t.json", [operator("aten::mm", 0, 200), *events])))


def test_profiler_steps_go_before_everything_else(tmp_path: Path) -> None:
    marked = [note(f"ProfilerStep#{n}", 20 * n, 20) for n in range(1, 5)]
    found = of(tmp_path, [*marked, *(note("Optimizer.step#SGD.step", 10 * n, 2) for n in range(9))])
    assert (found.count, found.by) == (4, "the program's own profiler steps")
    assert (found.start, found.end) == (20_000, 100_000)


def test_an_optimizers_step_ends_a_step_and_the_first_belongs_to_the_start(tmp_path: Path) -> None:
    found = of(tmp_path, [note("Optimizer.step#SGD.step", 10 + 30 * n, 5) for n in range(5)])
    assert (found.count, found.start, found.end) == (4, 15_000, 135_000)
    assert found.durations == (30_000,) * 4


def test_an_optimizer_within_another_counts_once(tmp_path: Path) -> None:
    outer = [note("Optimizer.step#Wrapper.step", 30 * n, 9) for n in range(5)]
    inner = [note("Optimizer.step#SGD.step", 30 * n + 2, 5) for n in range(5)]
    assert of(tmp_path, [*outer, *inner]).count == 4


def test_without_an_optimizer_batches_are_steps(tmp_path: Path) -> None:
    found = of(tmp_path, [note(LOADING, 10 * n, 3) for n in range(6)])
    assert (found.count, found.by, found.start) == (5, "batches", 0)


def test_without_a_loop_the_window_is_everything(tmp_path: Path) -> None:
    found = of(tmp_path, [note(LOADING, 10, 3), note("Optimizer.step#SGD.step", 20, 3)])
    assert (found.count, found.start, found.end) == (0, 0, 200_000)
    assert found.durations == ()


def test_the_typical_step_is_one_of_median_length() -> None:
    assert Steps((0, 50, 60, 71, 90), "x", 0, 90).typical == 2
