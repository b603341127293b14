"""Kernels that cheat while they are timed, on a GPU: each is found wrong, or no faster than the honest one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gridstride as gs
from gridstride.device.physical.physical_streams import PhysicalEvent
from gridstride.judge.execution.runnable import build
from gridstride.judge.find import Folder, find
from gridstride.judge.header import parse_kernel, read_kernel
from gridstride.judge.ladder import Ladder
from gridstride.judge.problem import Problem
from gridstride.judge.timing.timer import Timer, Timing

pytestmark = pytest.mark.gpu
FILES = {path.stem: path for path in sorted((Path(__file__).parents[1] / "cheats" / "timed").glob("*.cu"))}
_SHARE = 0.9  # of the honest kernel's time; two timings of one kernel differ by a few percent
_LONG = {"n": 1 << 26}  # a launch of 0.2 ms


def vector_add(**changes: Any) -> Problem:
    return replace(find("vector_add").problem, **{"peers": {}, "timed": {"n": 1 << 24}, **changes})


@pytest.fixture(scope="module")
def timed() -> Callable[[str], Timing]:
    device, problem = gs.PhysicalGPU(0), vector_add()
    timer = Timer(problem, device, seed=3)
    return lambda name: timer.time(build(problem, read_kernel(FILES[name]), device))


def judged(problem: Problem) -> Any:
    folder = Folder(find("vector_add").path, problem)
    return Ladder(folder, device=gs.PhysicalGPU(0), seed=3).judge(read_kernel(FILES["honest"]))


@pytest.mark.parametrize("name", FILES)
def test_it_is_found_wrong_or_gains_nothing(name: str, timed: Callable[[str], Timing]) -> None:
    timing = timed(name)
    expected = read_kernel(FILES[name]).expect
    assert expected is not None
    assert timing.right == (expected.kind == "nothing")
    if timing.right:
        assert timing.median_ms > _SHARE * timed("honest").median_ms


def test_the_honest_kernel_passes_and_its_time_is_explained() -> None:
    result = judged(vector_add())
    assert result.findings == ()
    low, high = result.interval_ms
    assert low <= result.time_ms <= high
    assert 8 <= result.rounds <= 50
    assert all(100 < mhz < 3000 for mhz in result.multiprocessor_mhz)


def test_a_kernel_that_finds_its_data_in_the_cache_is_no_slower() -> None:
    """Three times at most: what else the GPU does lies in some of the rounds."""
    results = (judged(vector_add()) for _ in range(3))
    assert any(result.warm_ms < 1.1 * result.time_ms for result in results)


def test_rounds_end_early_where_the_interval_is_narrow() -> None:
    device, problem = gs.PhysicalGPU(0), vector_add(timed=_LONG)
    timing = Timer(problem, device, seed=3).time(build(problem, read_kernel(FILES["honest"]), device))
    low, high = timing.interval_ms
    assert timing.rounds == 50 or high - low <= 0.01 * timing.median_ms


def test_a_time_below_what_the_chip_allows_is_a_fault() -> None:
    result = judged(vector_add(bytes="120*n"))  # as if the problem moved ten times as much as the kernel does
    assert [finding.kind for finding in result.findings] == ["too_fast"]
    assert "less than the" in result.findings[0].message


def test_events_that_show_too_little_are_found_by_the_host_s_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = PhysicalEvent.elapsed_ms
    monkeypatch.setattr(PhysicalEvent, "elapsed_ms", lambda self, start: 0.01 * honest(self, start))
    result = judged(vector_add(timed=_LONG))
    assert [finding.kind for finding in result.findings] == ["clocks_disagree"]


def test_work_on_another_stream_is_found_by_the_device_s_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a submission could launch on a stream of its own: the judge's events see nothing of it."""
    device, problem = gs.PhysicalGPU(0), vector_add()
    other = device._core.create_stream(options={"nonblocking": True})
    slow = read_kernel(FILES["honest"]).source.replace("grid: 1024", "grid: 8")  # a few milliseconds
    runnable = build(problem, parse_kernel(slow), device)
    real = type(runnable.kernel).launch

    def aside(self: Any, **given: Any) -> None:
        real(self, **{**given, "stream": other})

    monkeypatch.setattr(type(runnable.kernel), "launch", aside)
    timing = Timer(problem, device, seed=3).time(runnable)
    assert "went on outside the stream" in timing.clocks


def test_a_python_submission_is_timed_on_the_gpu_from_its_ptx() -> None:
    from gridstride.judge.sandbox.python_kernels import why_not
    from gridstride.judge.submission import check

    pytest.importorskip("triton")
    if why_not():
        pytest.skip(why_not())
    path = Path(__file__).parents[1] / "correct" / "triton_vector_add.py"
    folder = Folder(find("vector_add").path, vector_add())
    result = check(path, folder, device=gs.PhysicalGPU(0), seed=3)
    assert result.findings == ()
    assert result.time_ms > 0
