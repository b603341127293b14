"""The host's clock against the device's: what neither can explain is said, what a busy host adds is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridstride as gs
from gridstride.judge.execution.runnable import Runnable
from gridstride.judge.problem import Problem
from gridstride.judge.timing.clocks import Lap, disagreement, multiprocessor_mhz
from gridstride.judge.timing.timer import Timer, Timing

HONEST = Lap(device_ms=2.0, host_ms=2.1, after_ms=1.9)


def twice(x: np.ndarray, y: np.ndarray, n: int) -> None:
    y[...] = 2 * x


def test_clocks_that_show_the_same_say_nothing() -> None:
    assert disagreement([HONEST] * 8) == ""
    assert disagreement([]) == ""


def test_work_that_goes_on_after_the_last_event_is_named() -> None:
    said = disagreement([Lap(device_ms=0.01, host_ms=2.1, after_ms=2.0)] * 8)
    assert "went on outside the stream that was timed" in said
    assert "0.01 ms" in said


def test_a_timer_that_runs_ahead_is_named() -> None:
    assert "the timer is wrong" in disagreement([Lap(device_ms=9.0, host_ms=2.0, after_ms=1.9)] * 8)


def test_a_host_that_was_busy_now_and_then_is_no_disagreement() -> None:
    late = Lap(device_ms=2.0, host_ms=40.0, after_ms=39.0)
    assert disagreement([late, HONEST, late, HONEST, late, late, HONEST, late]) == ""


@pytest.fixture
def timed(
    doubling: Problem, host: Any, runs: Callable[..., Runnable], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[], float]], Timing]:
    monkeypatch.setattr("gridstride.judge.timing.timer.multiprocessor_mhz", lambda device: None)
    return lambda clock: Timer(doubling, host, seed=5, clock=clock).time(runs(twice, 1.0))


def test_a_timing_says_when_events_show_less_than_the_host_saw(host: Any, timed: Callable[..., Timing]) -> None:
    """As where a device computes on after the event that should have come last."""
    idle = host.synchronize
    late = [0.0]

    def working_on() -> None:
        idle()
        late[0] += 30.0

    host.synchronize = working_on
    assert "outside the stream" in timed(lambda: (host.clock + late[0]) / 1000).clocks


@pytest.mark.parametrize(("speed", "said"), [(1.0, ""), (0.1, "the timer is wrong")])
def test_a_timing_says_when_events_show_more_than_the_host_saw(
    host: Any, timed: Callable[..., Timing], speed: float, said: str
) -> None:
    found = timed(lambda: speed * host.clock / 1000).clocks
    assert (said in found) if said else found == ""


def test_a_virtual_gpu_has_no_clock_to_note() -> None:
    assert multiprocessor_mhz(gs.VirtualGPU()) is None


@pytest.mark.gpu
def test_the_multiprocessors_run_at_no_more_than_their_boost_clock() -> None:
    device = gs.PhysicalGPU(0)
    mhz = multiprocessor_mhz(device)
    assert mhz is not None
    assert 100 < mhz < 1.05 * device.properties.clock_mhz
