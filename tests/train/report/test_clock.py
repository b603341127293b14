"""A run's time and this process's speed."""

from __future__ import annotations

import pytest

from gridstride.train.report import clock as module
from gridstride.train.report.clock import Clock
from gridstride.train.report.progress import TrainingProgress


class Time:
    """Seconds that a test lets pass; the processor is busy for half of them."""

    at = 0.0

    def now(self) -> tuple[float, float]:
        return self.at, self.at / 2


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    passing = Time()
    monkeypatch.setattr(module, "now", passing.now)
    return passing


def steps(clock: Clock, progress: TrainingProgress, time: Time, count: int, seconds: float) -> None:
    for _ in range(count):
        time.at += seconds
        progress.step += 1
        clock.stepped()


def test_the_first_steps_do_not_count_for_the_speed(time: Time) -> None:
    progress = TrainingProgress()
    clock = Clock(progress)
    steps(clock, progress, time, 5, 10.0)
    assert clock.steps_per_second == 0
    steps(clock, progress, time, 4, 0.5)
    assert clock.steps_per_second == pytest.approx(2)
    assert (progress.seconds, progress.processor_seconds) == (52, 26)


def test_validations_count_for_the_overall_speed_alone(time: Time) -> None:
    progress = TrainingProgress()
    clock = Clock(progress)
    steps(clock, progress, time, 5, 1.0)
    steps(clock, progress, time, 2, 1.0)
    time.at += 2.0
    clock.waited()
    assert clock.steps_per_second == pytest.approx(1)
    assert clock.overall == pytest.approx(0.5)


def test_a_run_that_goes_on_adds_to_its_time(time: Time) -> None:
    progress = TrainingProgress()
    progress.step, progress.seconds = 100, 50.0
    clock = Clock(progress)
    assert clock.overall == pytest.approx(2)
    steps(clock, progress, time, 1, 3.0)
    assert progress.seconds == 53
