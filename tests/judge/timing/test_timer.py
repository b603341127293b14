"""Timing: honest rounds on rotating sets, and every timed output checked. The device's clock is a number here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from gridstride.judge.execution.runnable import Runnable
from gridstride.judge.problem import Problem, array, size
from gridstride.judge.timing.timer import Timer, Timing

Body = Callable[..., None]
Runs = Callable[..., Runnable]
Time = Callable[..., Timing]


def twice(x: np.ndarray, y: np.ndarray, n: int) -> None:
    y[...] = 2 * x


@pytest.fixture(autouse=True)
def _no_multiprocessors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of a device of numbers cannot be measured by a kernel."""
    monkeypatch.setattr("gridstride.judge.timing.timer.multiprocessor_mhz", lambda device: None)


@pytest.fixture
def timed(host: Any, runs: Runs) -> Time:
    """Times a Python function whose launches take `cost` milliseconds."""

    def time(problem: Problem, body: Body, *, cost: float, said: list[str] | None = None) -> Timing:
        said = said if said is not None else []
        timer = Timer(problem, host, seed=5, progress=said.append, clock=lambda: host.clock / 1000)
        return timer.time(runs(body, cost))

    return time


@pytest.mark.parametrize(("cost", "rounds"), [(0.01, 50), (10.0, 20), (60.0, 8), (150.0, 3), (500.0, 3)])
def test_rounds_fit_the_share_of_device_time_and_slow_kernels_get_few(
    doubling: Problem, timed: Time, host: Any, cost: float, rounds: int
) -> None:
    def unsteady(x: np.ndarray, y: np.ndarray, n: int) -> None:
        unsteady.turn = -getattr(unsteady, "turn", 1)  # type: ignore[attr-defined]
        host.clock += cost * (0.2 + 0.1 * unsteady.turn * host.random.random())
        twice(x, y, n)

    timing = timed(doubling, unsteady, cost=0.8 * cost)
    assert timing.rounds == pytest.approx(rounds, abs=2)  # planned from a launch whose time wavers, too
    assert timing.median_ms == pytest.approx(cost, rel=0.1)
    assert timing.interval_ms[0] < timing.median_ms < timing.interval_ms[1]


@pytest.mark.parametrize("cost", [0.01, 10.0])
def test_rounds_end_when_the_interval_is_narrow(doubling: Problem, timed: Time, cost: float) -> None:
    timing = timed(doubling, twice, cost=cost)
    assert timing.rounds == 8
    assert timing.interval_ms == pytest.approx((cost, cost))
    assert timing.median_ms == pytest.approx(cost)
    assert timing.spread_ms == pytest.approx(0, abs=1e-9)
    assert timing.right


def test_a_slow_kernel_is_launched_no_more_than_it_must_be(doubling: Problem, timed: Time, host: Any) -> None:
    timed(doubling, twice, cost=500.0)
    assert host.clock == pytest.approx(4 * 500.0)  # one to warm up, three timed


def test_every_launch_has_other_memory_than_the_one_before(doubling: Problem, timed: Time) -> None:
    places: list[int] = []

    def noting(x: np.ndarray, y: np.ndarray, n: int) -> None:
        places.append(x.ctypes.data)
        twice(x, y, n)

    timed(doubling, noting, cost=150.0)
    assert len(set(places)) == 2
    assert all(one != next_one for one, next_one in pairwise(places))


def test_progress_says_what_goes_on(doubling: Problem, timed: Time) -> None:
    said: list[str] = []
    timed(doubling, twice, cost=60.0, said=said)
    assert said == [
        "drawing 2 sets of data to time, and working out what must come of them",
        "timing, 8 rounds of 2 launches",
        "checking what the timed launches left",
    ]


def test_a_kernel_that_is_wrong_on_one_set_only_is_found(doubling: Problem, timed: Time) -> None:
    first: list[int] = []

    def replaying(x: np.ndarray, y: np.ndarray, n: int) -> None:
        first.append(x.ctypes.data)
        y[...] = 2 * x if x.ctypes.data == first[0] else 7

    assert not timed(doubling, replaying, cost=1.0).right


def test_a_kernel_that_stops_working_after_the_warm_up_is_found(timed: Time) -> None:
    # In place: what it leaves at the end shows whether the timed launches did anything.
    launches: list[int] = []

    def lazy(x: np.ndarray, y: np.ndarray, n: int) -> None:
        launches.append(1)
        if len(launches) <= 2:
            y[...] += x

    in_place = Problem(
        name="accumulate", title="y += x",
        parameters=(array("x", "float32", "n"), array("y", "float32", "n", role="inout"), size("n")),
        reference=lambda v: {"y": v["x"] + v["y"]}, magnitude=lambda v: {"y": abs(v["x"]) + abs(v["y"])},
        terms="2", public=({"n": 8},), largest={"n": 64}, observed={"n": 64}, timed={"n": 1024}, flops="n",
        bytes="12*n", pieces="n",
    )  # fmt: skip
    assert not timed(in_place, lazy, cost=1.0).right
    assert timed(in_place, lambda x, y, n: np.add(x, y, out=y), cost=1.0).right


def test_outputs_begin_poisoned_so_that_an_idle_kernel_is_found(doubling: Problem, host: Any, runs: Runs) -> None:
    timer = Timer(doubling, host, seed=5, clock=lambda: host.clock / 1000)
    assert timer.time(runs(twice)).right
    assert not timer.time(runs(lambda x, y, n: None)).right


def test_a_batch_launches_on_each_set_once_so_that_nothing_can_be_left_over_from_within_it(
    doubling: Problem, timed: Time
) -> None:
    said: list[str] = []
    timed(replace(doubling, timed={"n": 4096}), twice, cost=0.02, said=said)
    assert said[1] == "timing, 8 to 50 rounds of 2 launches"


def launches_counted(cheat: Callable[[int, np.ndarray, np.ndarray], None]) -> Body:
    """A kernel that knows how often it was launched before."""
    count: list[int] = []

    def body(x: np.ndarray, y: np.ndarray, n: int) -> None:
        count.append(1)
        cheat(len(count), x, y)

    return body


@pytest.mark.parametrize("idle_from", [2, 3, 5, 10, 20])
def test_a_kernel_that_works_for_the_first_launches_only_is_found(
    doubling: Problem, timed: Time, idle_from: int
) -> None:
    def lazy(launch: int, x: np.ndarray, y: np.ndarray) -> None:
        if launch < idle_from:
            y[...] = 2 * x

    assert not timed(doubling, launches_counted(lazy), cost=1.0).right


def test_a_kernel_that_skips_every_other_time_that_it_sees_a_pointer_is_found(doubling: Problem, timed: Time) -> None:
    seen: dict[int, int] = {}

    def skipping(x: np.ndarray, y: np.ndarray, n: int) -> None:
        seen[x.ctypes.data] = seen.get(x.ctypes.data, 0) + 1
        if seen[x.ctypes.data] % 2:
            y[...] = 2 * x

    assert not timed(doubling, skipping, cost=1.0).right


def test_a_kernel_that_replays_by_pointer_is_found(doubling: Problem, timed: Time) -> None:
    kept: dict[int, np.ndarray] = {}

    def replaying(x: np.ndarray, y: np.ndarray, n: int) -> None:
        y[...] = kept.setdefault(x.ctypes.data, 2 * x)

    assert not timed(doubling, replaying, cost=1.0).right


def test_the_judged_kernel_is_loaded_anew_before_each_of_its_batches(
    doubling: Problem, host: Any, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = runs(twice, 60.0)
    renewed: list[int] = []
    monkeypatch.setattr(type(kernel.kernel), "renewed", lambda self: renewed.append(1) or self)
    timing = Timer(doubling, host, seed=5, clock=lambda: host.clock / 1000).time(kernel)
    assert len(renewed) == timing.rounds + 1  # and once for the launches on a warm L2


def test_a_peer_has_launches_in_front_of_its_batches_as_the_kernel_has(
    doubling: Problem, host: Any, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first launch after a pause waits for the host: no batch that is timed begins with it."""
    timer = Timer(doubling, host, seed=5, clock=lambda: host.clock / 1000)
    idle = True

    def launch(number: int) -> None:
        nonlocal idle
        host.clock += 0.2 + 1.0 * idle
        idle = False

    def pause(device: Any) -> None:
        nonlocal idle
        idle = True

    monkeypatch.setattr(type(host), "synchronize", pause)
    timer._peers = {"peer": launch}
    timing = timer.time(runs(twice, 0.2))
    assert timing.median_ms == pytest.approx(0.2)
    assert timing.peers["peer"] == pytest.approx(0.2)
