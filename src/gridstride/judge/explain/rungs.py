"""Where a kernel stands on the problem's ladder: its counts beside the rungs', and the rung that does the advice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

from gridstride.judge.execution.runnable import RefusedError, build
from gridstride.judge.explain.advice import Advice
from gridstride.judge.explain.at_size import timed
from gridstride.judge.find import Folder
from gridstride.judge.problem import Case
from gridstride.judge.reference.prepared_cases import prepare
from gridstride.judge.verify import COUNTERS, observe
from gridstride.protocol import Device

_COMPARED = ("global_sectors", "global_requests", "shared_wavefronts", "bank_conflicts", "instructions", "barriers")
_NEARLY = 1.35  # a rung does what is advised if its count is no more than this times what the advice comes to


@dataclass(frozen=True, slots=True)
class RungCounts:
    """A rung's counts of the observed case and its predicted time for the timed one."""

    name: str
    title: str
    counters: Mapping[str, float]
    predicted_ms: float
    limiter: str

    def json(self) -> dict[str, Any]:
        return {"rung": self.name, "predicted_ms": self.predicted_ms, "limiter": self.limiter,
                "counters": {name: self.counters[name] for name in COUNTERS}}  # fmt: skip


def climbed(folder: Folder, device: Device, seed: int, progress: Callable[[str], None]) -> tuple[RungCounts, ...]:
    """Every rung of the ladder, counted on the virtual GPU; one that this chip cannot run is left out."""
    problem = folder.problem
    prepared_case = prepare(problem, [Case(problem.observed, "normal", seed)])[0]
    rungs = []
    for file in folder.rungs():
        progress(f"counting {problem.name}/{file.name}")
        try:
            runnable = build(problem, file, device)
        except RefusedError:
            continue
        run, wrong = observe(problem, runnable, prepared_case)
        if run is None or wrong:
            continue
        predicted = timed(problem, runnable, run).predict()
        title = file.title.partition(":")[2].strip().rstrip(".") or file.name
        rungs.append(RungCounts(file.name, title, run.counters.as_dict(), predicted.ms, predicted.limiter))
    return tuple(rungs)


def nearest(counters: Mapping[str, float], rungs: Sequence[RungCounts]) -> RungCounts | None:
    """The rung whose counts are most like these."""
    return min(rungs, key=lambda rung: _distance(counters, rung.counters), default=None)


def with_rungs(
    advice: Sequence[Advice], counters: Mapping[str, float], ms: float, rungs: Sequence[RungCounts]
) -> tuple[Advice, ...]:
    """The same advice, each with the first rung that does it and is predicted to be faster than `ms`: not one below
    the rung that the kernel is most like, which has that behind it.
    """
    like = nearest(counters, rungs)
    above = rungs[rungs.index(like) :] if like is not None else rungs
    return tuple(_with_rung(item, counters, ms, above) for item in advice)


def _with_rung(advice: Advice, counters: Mapping[str, float], ms: float, rungs: Sequence[RungCounts]) -> Advice:
    own_count = counters.get(advice.counter, 0.0)
    if not own_count:
        return advice
    least, least_same = own_count * advice.target, counters.get(advice.same, 0.0) / _NEARLY
    for rung in rungs:
        rung_count = rung.counters.get(advice.counter, 0.0)
        same_value = rung.counters.get(advice.same, 0.0)
        if (
            rung_count <= _NEARLY * least + 1
            and rung_count < own_count / _NEARLY
            and rung.predicted_ms < ms
            and same_value >= least_same
        ):
            return replace(advice, rung=rung.name, rung_title=rung.title)
    return advice


def _distance(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    return sum(abs(log(1 + first.get(name, 0)) - log(1 + second.get(name, 0))) for name in _COMPARED)
