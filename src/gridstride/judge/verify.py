"""Runs a kernel on cases and says whether it is right and safe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from gridstride.judge.access_map import Access
from gridstride.judge.answers import answers, drawn, marked
from gridstride.judge.attempt import Attempt, Observed
from gridstride.judge.blame import Blame
from gridstride.judge.buffers import never_written, poisoned
from gridstride.judge.data import widened
from gridstride.judge.header import LaunchShape
from gridstride.judge.patterns import Evidence, describe
from gridstride.judge.problem import Array, Case, Problem, Signature, Sizes, Values
from gridstride.judge.symbols import ExpressionError
from gridstride.judge.tolerance import Comparison, Expected, compare, expect
from gridstride.judge.verdict import Finding

_OTHER_SEED = 1 << 20  # apart from the seeds of the public cases
_STALE = ". The launches before, on other data in the same memory, were right: is something kept from them?"

COUNTERS = (
    "instructions",
    "active_lanes",
    "global_requests",
    "global_sectors",
    "shared_wavefronts",
    "bank_conflicts",
    "barriers",
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case with its data and what each output must be; made once, used for every kernel.

    `then` is other data of the same shape, which the kernel finds in the same memory afterwards.
    """

    case: Case
    inputs: dict[str, Any]
    expected: dict[str, Expected]
    then: Prepared | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """What verifying gave. `max_error` is None when nothing could be compared; `failed` is the case that failed."""

    findings: tuple[Finding, ...]
    max_error: float | None
    cases: int
    failed: Case | None = None


class Subject(Protocol):
    """A kernel to be judged, wherever it runs."""

    def attempt(self, signature: Signature, case: Case, inputs: Sequence[Values]) -> Attempt:
        """Run the inputs in the same memory, the first one twice."""

    def observed(self, signature: Signature, case: Case, inputs: Values) -> Observed:
        """Run once with counters."""

    def blame(
        self, signature: Signature, case: Case, inputs: Values, name: str, wrong: Array, unwritten: Array
    ) -> Blame | None:
        """Who is behind the first wrong element of an output; None where nobody can tell."""

    def accesses(self, signature: Signature, case: Case, inputs: Values, lines: Iterable[int]) -> tuple[Access, ...]:
        """What the lanes of one warp touch on these lines."""

    def shape(self, sizes: Sizes, multiprocessors: int | None = None) -> LaunchShape:
        """Grid and block for these sizes."""


def prepare(problem: Problem, cases: Iterable[Case]) -> tuple[Prepared, ...]:
    """Data and expected results of each case; the first one has other data after it."""
    made = [_prepare(problem, case) for case in cases]
    if made:
        first = made[0].case
        made[0] = replace(made[0], then=_prepare(problem, replace(first, seed=first.seed + _OTHER_SEED)))
    return tuple(made)


def _prepare(problem: Problem, case: Case) -> Prepared:
    inputs = drawn(problem, case)
    wide = {name: widened(value) for name, value in inputs.items()}
    values, magnitudes = answers(problem, case, wide)
    expected = {p.name: expect(problem, case, p, values[p.name], magnitudes.get(p.name)) for p in problem.outputs}
    return Prepared(case, inputs, expected)


def verify(
    problem: Problem,
    subject: Subject,
    prepared: Sequence[Prepared],
    *,
    progress: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Run every case until one fails: right, safe, repeatable, and nothing else touched."""
    worst: float | None = None
    for number, one in enumerate(prepared):
        progress(str(one.case))
        findings, error = _judge_case(problem, subject, one)
        worst = error if worst is None else max(worst, error if error is not None else worst)
        if findings:
            return Verification(findings, worst, number + 1, one.case)
    return Verification((), worst, len(prepared))


def _judge_case(problem: Problem, subject: Subject, one: Prepared) -> tuple[tuple[Finding, ...], float | None]:
    inputs = [one.inputs] if one.then is None else [one.inputs, one.then.inputs]
    try:
        done = subject.attempt(problem.signature, one.case, inputs)
    except ExpressionError as error:
        return (Finding("launch", f"{error} ({one.case})"),), None
    if done.findings:
        return _in_case(done.findings, one.case), None
    findings, worst = _judge_results(problem, subject, one, done.results[:2])
    if not findings and one.then is not None:
        findings, worst = _judge_results(problem, subject, one.then, (done.results[2], done.results[2]))
        findings = tuple(replace(f, message=f"{f.message}{_STALE}") for f in findings)
    return findings, worst


def _in_case(findings: Iterable[Finding], case: Case) -> tuple[Finding, ...]:
    return tuple(f if f.kind == "unsupported" else replace(f, message=f"{f.message} ({case})") for f in findings)


def observe(problem: Problem, subject: Subject, one: Prepared) -> tuple[Any, tuple[Finding, ...]]:
    """Run one case with counters: the run, and what is wrong with it."""
    done = subject.observed(problem.signature, one.case, one.inputs)
    if done.findings or done.results is None:
        return done.run, _in_case(done.findings, one.case)
    findings, _ = _judge_results(problem, subject, one, (done.results, done.results))
    return done.run, findings


def totals(run: Any) -> dict[str, float]:
    """The counters of a whole run, by name."""
    return {name: float(getattr(run.counters, name)) for name in COUNTERS}


def _judge_results(
    problem: Problem, subject: Subject, one: Prepared, runs: Sequence[dict[str, Array]]
) -> tuple[tuple[Finding, ...], float]:
    findings: list[Finding] = []
    worst = 0.0
    for name in one.expected:
        first, second = runs[0][name], runs[1][name]
        comparison = compared(problem, one, name, runs[0])
        worst = max(worst, comparison.max_error)
        if not comparison.passed:
            findings.append(_wrong(problem, subject, one, name, (first, second), comparison))
        elif not problem.unrepeatable and not _repeated(first, second):
            findings.append(Finding("unrepeatable", f"{_differing(name, first, second)} ({one.case})"))
        elif problem.unrepeatable and not (again := compared(problem, one, name, runs[1])).passed:
            findings.append(_wrong(problem, subject, one, name, (second, second), again))
    return tuple(findings), worst


def compared(problem: Problem, one: Prepared, name: str, results: Values) -> Comparison:
    """An output against what it must be, or against what must hold of it."""
    if name not in problem.invariants:
        return compare(results[name], one.expected[name])
    wide = {each: widened(value) for each, value in one.inputs.items()}
    wrong = marked(problem, one.case, name, wide, results)
    return Comparison(not wrong.any(), np.array(wrong, bool), 0.0)


def _repeated(first: Array, second: Array) -> bool:
    """Whether two runs left the same bits; what neither of them wrote holds another poison each time."""
    if first.tobytes() == second.tobytes():
        return True
    raw = (np.ascontiguousarray(each).view(np.uint8).reshape(*first.shape, -1) for each in (first, second))
    same = np.equal(*raw).all(axis=-1) | never_written(first, second)
    return bool(same.all())


def _differing(name: str, first: Array, second: Array) -> str:
    differing, idle = int((first != second).sum()), int(poisoned(second, 1).sum())
    if idle == differing:
        return (
            f"the first run is right, but the second on the same data wrote nothing to {idle} elements of {name}: does "
            "the kernel do its work once only?"
        )
    return f"two runs on the same data differ in {differing} elements of {name}: a race"


def _wrong(
    problem: Problem, subject: Subject, one: Prepared, name: str, runs: tuple[Array, Array], comparison: Comparison
) -> Finding:
    expected = one.expected[name].values
    unwritten = never_written(*runs) & comparison.wrong  # a gap between rows is left as it was, and right
    pattern = describe(Evidence(runs[0], expected, comparison.wrong, unwritten))
    shape = subject.shape(one.case.sizes, one.case.multiprocessors)
    to_blame = subject.blame(problem.signature, one.case, one.inputs, name, comparison.wrong, unwritten)
    told = str(pattern) if str(pattern)[-1] in ".?" else f"{pattern}."
    said = f"{told} {to_blame.text}" if to_blame else str(pattern)
    message = f"{name}: {said} (launched with {shape}; {one.case})"
    line, place = (to_blame.line, to_blame.place) if to_blame else (None, None)
    return Finding("wrong_result", message, line, place, pattern=pattern.name)
