"""Time of a run, over all its processes, and the speed of this one."""

from __future__ import annotations

import time

from gridstride.train.report.progress import TrainingProgress

_SETTLED = 5  # steps of a process after which its speed counts: the first ones compile and fill caches


def now() -> tuple[float, float]:
    """Seconds that have passed, and seconds of processors that this process has used; each from a zero of its own."""
    return time.perf_counter(), time.process_time()


class Clock:
    """Adds this process's time to a run's."""

    def __init__(self, progress: TrainingProgress) -> None:
        self._progress = progress
        self._last = now()
        self._first_step = progress.step
        self._from: tuple[int, float] | None = None
        self._training = 0.0
        """Seconds of this process's steps alone, since its speed counts."""

    def stepped(self) -> None:
        """A step has been done since the last call."""
        passed = self._passed()
        if self._from is None:
            if self._progress.step - self._first_step >= _SETTLED:
                self._from = (self._progress.step, self._progress.seconds)
        else:
            self._training += passed

    def waited(self) -> None:
        """Something else has been done: validation, a save."""
        self._passed()

    @property
    def steps_per_second(self) -> float:
        """While training, validations and saves left out; 0 until it is known."""
        if self._from is None or not self._training:
            return 0.0
        return (self._progress.step - self._from[0]) / self._training

    @property
    def overall(self) -> float:
        """Steps per second with validations and saves, of the time since the first steps."""
        if self._from is None or self._progress.seconds <= self._from[1]:
            return self._progress.step / max(self._progress.seconds, 1e-9)
        return (self._progress.step - self._from[0]) / (self._progress.seconds - self._from[1])

    def _passed(self) -> float:
        previous, self._last = self._last, now()
        passed, used = self._last[0] - previous[0], self._last[1] - previous[1]
        self._progress.seconds += passed
        self._progress.processor_seconds += used
        return passed
