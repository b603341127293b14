"""Proves that a problem can judge: what is right passes, and everything that is known to be wrong is told from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.judge.answers import answers
from gridstride.judge.cases import public_cases
from gridstride.judge.find import Folder
from gridstride.judge.imposters import Imposter, imposters
from gridstride.judge.ladder import Ladder
from gridstride.judge.problem import Array, Problem
from gridstride.judge.verify import Prepared, compared, prepare
from gridstride.protocol import Device


@dataclass(frozen=True, slots=True)
class Trial:
    """One thing that was put before the problem: whether it was to pass, whether it did, and what that rests on."""

    name: str
    must_pass: bool
    passed: bool
    reason: str

    @property
    def held(self) -> bool:
        """Whether the problem told right from wrong."""
        return self.passed == self.must_pass

    def json(self) -> dict[str, Any]:
        """One entry of `problem prove --json`."""
        return {"trial": self.name, "must": "pass" if self.must_pass else "fail", "held": self.held,
                "reason": self.reason}  # fmt: skip


def prove(
    folder: Folder, *, device: Device | str | None = None, progress: Callable[[str], None] = lambda _: None
) -> Iterator[Trial]:
    """Every trial as it is decided: the reference in lower precision and worse, then the folder's own kernels."""
    problem = folder.problem
    progress(f"{problem.name}: reference")
    prepared = prepare(problem, public_cases(problem))
    yield _same_precision(problem, prepared)
    for imposter in imposters(problem):
        progress(f"{problem.name}: {imposter.name}")
        trial = _imposter(problem, imposter, prepared)
        if trial is not None:
            yield trial
    yield from _kernels(folder, device, progress)


def _same_precision(problem: Problem, prepared: Sequence[Prepared]) -> Trial:
    """The reference in the problem's own precision, on inputs as they are: NumPy adds in an order of its own. Halves
    are multiplied and added up in float32, as every correct kernel does, and rounded at the end.
    """
    name = "the reference in the problem's own precision"
    for one in prepared:
        values, _ = answers(problem, one.case, {name: _added_up_in(value) for name, value in one.inputs.items()})
        made = {p.name: np.asarray(values[p.name]).astype(p.dtype) for p in problem.outputs}
        for p in problem.outputs:
            wrong = _rejected(problem, one, p.name, made)
            if wrong:
                why = f"{wrong}; the tolerance is too tight: are `terms` and `magnitude` what is added up?"
                return Trial(name, True, False, why)
    return Trial(name, True, True, f"within the tolerance in all {len(prepared)} cases")


def _added_up_in(value: Any) -> Any:
    narrow = isinstance(value, np.ndarray) and value.dtype == np.float16
    return value.astype(np.float32) if narrow else value


def _imposter(problem: Problem, imposter: Imposter, prepared: Sequence[Prepared]) -> Trial | None:
    """None where the imposter has no meaning for the problem: it is right in every case, or there is none."""
    tried = 0
    for one in prepared:
        made = imposter.make(problem, one)
        if made is None:
            continue
        tried += 1
        for name in made:
            wrong = _rejected(problem, one, name, made)
            if wrong:
                return Trial(imposter.name, False, False, wrong)
    if not tried:
        return None
    why = f"{imposter.story} passes all {tried} cases in which it is wrong: {_remedy(problem, imposter)}"
    return Trial(imposter.name, False, True, why)


def _remedy(problem: Problem, imposter: Imposter) -> str:
    if "fraction bits" in imposter.story:
        return "the tolerance is too wide: are `terms` and `magnitude` no more than what is added up?"
    return f"give `public` sizes and kinds of data (left out: {', '.join(problem.without) or 'none'}) that show it"


def _rejected(problem: Problem, one: Prepared, name: str, made: dict[str, Array]) -> str:
    """Why an output is rejected in a case; empty where it is not."""
    comparison = compared(problem, one, name, made)
    if comparison.passed:
        return ""
    many = int(comparison.wrong.sum())
    how = f"{many} of {comparison.wrong.size} elements" if many else "the errors taken together"
    return f"{name}: {how} beyond the tolerance ({one.case})"


def _kernels(folder: Folder, device: Device | str | None, progress: Callable[[str], None]) -> Iterator[Trial]:
    ladder = Ladder(folder, device=device or "virtual", progress=progress)
    for result in ladder:
        found = result.findings[0] if result.findings else None
        reason = f"{found.kind}: {found.message}" if found else f"{result.cases} cases"
        yield Trial(f"rungs/{result.rung}", True, found is None, reason)
    for rejection in ladder.rejections():
        match = rejection.match
        found_kinds = ", ".join(f.kind for f in rejection.findings) or "nothing"
        reason = f"{match.kind}: {match.message}" if match else f"{rejection.expected} expected, {found_kinds} found"
        yield Trial(f"wrong/{rejection.kernel}", False, match is None, reason)
