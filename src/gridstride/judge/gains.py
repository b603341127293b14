"""What a rung gained over the one before it, in figures and in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from gridstride.judge.problem import Problem
from gridstride.judge.symbols import evaluate
from gridstride.judge.verdict import RungResult
from gridstride.virtual.observe.figures import short, times

_LANES = 32
_WORTH_SAYING = 1.08  # a change by less is no reason for anything
_SAME = 1.05  # two ratios this close say the same thing
_MOST_SAID = 3

# What is counted, as a noun after "6.6× fewer"; the order breaks ties.
_COUNTED = {
    "global_sectors": "global sectors",
    "global_requests": "global requests",
    "shared_wavefronts": "shared wavefronts",
    "bank_conflicts": "bank conflicts",
    "instructions": "instructions",
    "barriers": "barriers",
}


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """One piece of a problem's work: what instructions are counted per."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Change:
    """How a counter moved: `ratio` is before over after, so above 1 is less."""

    counter: str
    before: float
    after: float

    @property
    def ratio(self) -> float:
        return self.before / self.after if self.after else float("inf")

    def __str__(self) -> str:
        noun = _COUNTED[self.counter]
        if not self.after:
            return f"no {noun} left (of {short(self.before)})"
        if not self.before:
            return f"{short(self.after)} {noun}"
        if self.ratio > 1:
            return f"{times(self.ratio)} fewer {noun}"
        return f"{times(1 / self.ratio)} more {noun}"


def unit_of(problem: Problem) -> WorkUnit:
    """A multiply-add where that is what the problem is made of, else an element of its largest array.

    Sizes are those of the observed case.
    """
    sizes = problem.observed
    flops, _ = problem.work(sizes)
    terms = evaluate(problem.terms, sizes)
    outputs = sum(prod(problem.shape(parameter, sizes)) for parameter in problem.outputs)
    if terms > 2 and flops == 2 * terms * outputs:
        return WorkUnit("multiply-add", flops // 2)
    return WorkUnit("element", max(prod(problem.shape(p, sizes)) for p in problem.parameters if p.role != "scalar"))


def per_unit(counters: Mapping[str, float], unit: WorkUnit) -> float:
    """Instructions a lane goes through for one unit of work: of a warp, times its lanes, over all units."""
    return counters.get("instructions", 0) * _LANES / unit.count


def per_request(counters: Mapping[str, float]) -> float | None:
    """Sectors of 32 bytes that one global access of a warp takes on average."""
    requests = counters.get("global_requests", 0)
    return counters.get("global_sectors", 0) / requests if requests else None


def changes(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[Change, ...]:
    """The counters that moved by more than a little, the largest gain first; barriers last, being rarely the news.

    Requests that fell as much as their sectors did are the same news and are left out.
    """
    moved = {name: Change(name, before.get(name, 0), after.get(name, 0)) for name in _COUNTED}
    worth = [c for c in moved.values() if c.before != c.after and not 1 / _WORTH_SAYING < c.ratio < _WORTH_SAYING]
    sectors, requests = moved["global_sectors"], moved["global_requests"]
    same_ratio = sectors.ratio < _SAME * requests.ratio and requests.ratio < _SAME * sectors.ratio
    if sectors in worth and requests in worth and same_ratio:
        worth.remove(requests)
    return tuple(sorted(worth, key=lambda change: (change.counter == "barriers", -change.ratio)))


def gain(before: RungResult, after: RungResult) -> str:
    """Why `after` is better than `before`, from its time and its counters; empty when there is nothing to compare."""
    less, more = _moved(before, after)
    faster, slower = _time(before, after)
    text = ", ".join([*faster, *less])
    costs = ", ".join([*slower, *more])
    return "; ".join([*([text] if text else []), *([f"the price: {costs}"] if costs else [])])


def gains(results: Sequence[RungResult]) -> dict[str, str]:
    """For each rung by name, what it gained over the last one below it that passed."""
    texts: dict[str, str] = {}
    below: RungResult | None = None
    for result in results:
        if below is not None and result.verdict == "pass":
            texts[result.rung] = gain(below, result)
        if result.verdict == "pass":
            below = result
    return texts


def closing(results: Sequence[RungResult], *, where: str, rejected: int, missed: Iterable[str], wrong: int) -> str:
    """The climb in a sentence or two."""
    failed = [result.rung for result in results if result.verdict == "fail"]
    passed = len(results) - len(failed)
    parts = [_count_text(passed, failed, where)]
    if top := _first_to_last(results):
        parts.append(top)
    if wrong:
        slipped = list(missed)
        parts.append(
            f"{', '.join(slipped)} did not get the finding asked for."
            if slipped
            else f"All {rejected} wrong kernels were rejected for their fault."
        )
    return " ".join(parts)


def _count_text(passed: int, failed: Sequence[str], where: str) -> str:
    if failed:
        return f"{passed} of {passed + len(failed)} rungs pass on {where}; {', '.join(failed)} failed."
    return f"All {passed} rungs pass on {where}." if passed != 1 else f"The rung passes on {where}."


def _first_to_last(results: Sequence[RungResult]) -> str:
    passed = [result for result in results if result.verdict == "pass"]
    if len(passed) < 2:
        return ""
    less, _ = _moved(passed[0], passed[-1])
    faster, _ = _time(passed[0], passed[-1])
    text = ", ".join([*faster, *less])
    return f"From {passed[0].rung} to {passed[-1].rung}: {text}." if text else ""


def _moved(before: RungResult, after: RungResult) -> tuple[list[str], list[str]]:
    """What there is less of, and what more; empty where one of the two was not counted."""
    moved = changes(before.counters, after.counters) if before.counters and after.counters else ()
    less = [str(change) for change in moved if change.ratio > 1]
    costs = sorted(moved, key=lambda change: (change.counter == "barriers", change.ratio))
    more = [str(change) for change in costs if change.ratio < 1]
    return less[:_MOST_SAID], more[:_MOST_SAID]


def _time(before: RungResult, after: RungResult) -> tuple[list[str], list[str]]:
    """By how much it is faster, or slower; measured where both were, else predicted, and called so."""
    if before.time_ms and after.time_ms:
        ratio, word = before.time_ms / after.time_ms, ""
    elif before.predicted_ms and after.predicted_ms and not (before.time_ms or after.time_ms):
        ratio, word = before.predicted_ms / after.predicted_ms, "predicted "
    else:
        return [], []
    if ratio >= _WORTH_SAYING:
        return [f"{word}{times(ratio)} faster"], []
    return [], [f"{word}{times(1 / ratio)} slower"] if ratio <= 1 / _WORTH_SAYING else []
