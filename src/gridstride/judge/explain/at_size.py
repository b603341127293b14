"""One observed run, seen at the size that is timed: counts scaled up, and the model of time asked again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gridstride.judge.execution.subject import Subject
from gridstride.judge.problem import Problem
from gridstride.virtual.chips import Chip
from gridstride.virtual.observe.counters import Counters
from gridstride.virtual.observe.predict import GridShape, Prediction, predict

if TYPE_CHECKING:
    from gridstride.virtual.observe.run import ObservedRun


@dataclass(frozen=True, slots=True)
class AtSize:
    """A launch of the timed size, predicted from the counts of the observed one.

    `factor` is how many times as much work it does; `moved` the bytes that memory must give and take then, None where
    that grows as everything else does.
    """

    counters: Counters
    shape: GridShape
    chip: Chip
    factor: float
    moved: int | None

    def predict(self, counters: Counters | None = None, *, resident: int | None = None) -> Prediction:
        """The time with these counts of the observed run (by default its own), with so many blocks at a time."""
        grown = (counters or self.counters).scaled(self.factor, self.moved)
        shape = self.shape if resident is None else replace(self.shape, resident=resident)
        return predict(grown, shape, self.chip)

    @property
    def grown(self) -> Counters:
        """The counts themselves at the timed size."""
        return self.counters.scaled(self.factor, self.moved)


def timed(problem: Problem, subject: Subject, run: ObservedRun) -> AtSize:
    """The run at the problem's timed size."""
    work, little = problem.work(problem.timed), problem.work(problem.observed)
    factor = max(part / small for part, small in zip(work, little, strict=True) if small)
    grid = subject.shape(problem.timed).grid
    return AtSize(run.counters, run.model.shape(grid), run.model.chip, factor, work[1])
