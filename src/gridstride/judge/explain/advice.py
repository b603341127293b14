"""One thing to try, and what the rules that advise look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gridstride.judge.execution.divisions import Division
from gridstride.judge.explain.at_size import AtSize
from gridstride.judge.explain.lines import LineProfile
from gridstride.judge.problem import Problem
from gridstride.virtual.observe.counters import Counters
from gridstride.virtual.observe.occupancy import Occupancy

CONFLICT_SHARE = 0.1
"""Of the wavefronts of a line, from which its conflicts are worth a thought."""


@dataclass(frozen=True, slots=True)
class AdviceSubject:
    """What the rules look at: the launch at its timed size, its lines, and how many of its blocks fit."""

    problem: Problem
    at: AtSize
    lines: tuple[LineProfile, ...]
    occupancy: Occupancy
    spilled: int
    warps_per_block: int
    blocks: int  # of the launch that was counted
    divisions: tuple[Division, ...] = ()


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to try. `gain` is how many times as fast the model says the launch would be, `counter` the count that
    would fall and `target` to what share of itself, while the count `same` stays; `rung` the rung of the ladder that
    does it, where one does.
    """

    name: str
    line: int | None
    cause: str
    remedy: str
    gain: float
    counter: str = ""
    target: float = 1.0
    also: tuple[int, ...] = field(default=())
    rung: str | None = None
    rung_title: str = ""
    same: str = ""

    def json(self) -> dict[str, Any]:
        return {
            "name": self.name, "line": self.line, "also_lines": list(self.also), "cause": self.cause,
            "remedy": self.remedy, "predicted_gain": self.gain, "rung": self.rung,
        }  # fmt: skip


Rule = Callable[[AdviceSubject], Iterator[Advice]]
"""Looks for one cause in a launch, line by line where it has a line."""


def predicted_gain(subject: AdviceSubject, counters: Counters | None = None, *, resident: int | None = None) -> float:
    """How many times as fast the launch would be with these counts, or with so many blocks resident."""
    now = subject.at.predict().ms
    return now / subject.at.predict(counters, resident=resident).ms
