"""Runs a kernel on cases and says whether it is right and safe."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gridstride.judge.cases.data import widened
from gridstride.judge.cases.path_cases import UNKNOWN_PATH, KernelPath
from gridstride.judge.execution.attempt import IN_ORDER, ordered_first, without_order
from gridstride.judge.execution.subject import Subject
from gridstride.judge.problem import Array, Case, Problem, Values
from gridstride.judge.reference.answers import marked
from gridstride.judge.reference.prepared_cases import PreparedCase
from gridstride.judge.reference.tolerance import Comparison, compare
from gridstride.judge.results.repeatability import differing, repeated, wrote_less
from gridstride.judge.results.wrong_result import wrong_result
from gridstride.judge.symbols import ExpressionError
from gridstride.judge.verdict import Finding

_PROMISE = (
    "CUDA promises no order of blocks, and not that all of a grid are on the GPU at once (a cooperative launch does). "
    "Does a block rely on what another has done?"
)

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
class Verification:
    """What verifying gave. `max_error` is None when nothing could be compared; `failed` is the case that failed.
    `passed` are the cases that passed and `paths` the ways that they went through the kernel, `repeatable` whether each
    of their runs left the same bits: where atomics take turns in any order, sums are rounded in any. `seconds` is how
    long the runs took where all passed.
    """

    findings: tuple[Finding, ...]
    max_error: float | None
    passed: tuple[Case, ...]
    failed: Case | None = None
    repeatable: bool = True
    paths: tuple[KernelPath, ...] = ()
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        """How many were run."""
        return len(self.passed) + (self.failed is not None)

    def followed_by(self, other: Verification) -> Verification:
        """Of the cases of both; this one found nothing."""
        errors = [verification.max_error for verification in (self, other) if verification.max_error is not None]
        passed, paths = (*self.passed, *other.passed), (*self.paths, *other.paths)
        repeatable = self.repeatable and other.repeatable
        spent = self.seconds + other.seconds
        return Verification(other.findings, max(errors, default=None), passed, other.failed, repeatable, paths, spent)


def verify(
    problem: Problem,
    subject: Subject,
    prepared: Sequence[PreparedCase],
    *,
    seconds: float = math.inf,
    progress: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Run every case until one fails, or running has taken `seconds`: right, safe, repeatable, nothing else touched.

    A case beyond the sizes that every kernel is run at says nothing where its launch does not end in time.
    """
    worst: float | None = None
    spent = 0.0
    passed: list[Case] = []
    repeatable = True
    paths: list[KernelPath] = []
    for prepared_case in prepared:
        if spent > seconds:
            return Verification(
                (_out_of_time(seconds, len(passed), len(prepared)),), worst, tuple(passed), prepared_case.case
            )
        progress(str(prepared_case.case))
        began = time.monotonic()
        done = _judge_case(problem, subject, prepared_case)
        if done.findings and _only_slow_at_large_sizes(problem, prepared_case.case, done.findings):
            continue
        spent += time.monotonic() - began
        worst = done.error if worst is None else max(worst, done.error if done.error is not None else worst)
        if done.findings:
            return Verification(done.findings, worst, tuple(passed), prepared_case.case)
        repeatable &= done.repeatable
        passed.append(prepared_case.case)
        paths.append(done.path)
    return Verification((), worst, tuple(passed), repeatable=repeatable, paths=tuple(paths), seconds=spent)


def _only_slow_at_large_sizes(problem: Problem, case: Case, findings: Iterable[Finding]) -> bool:
    """Whether nothing is said but that a launch took long, at a size that not every kernel is run at: one that does
    more work than it must is slow there, and not wrong.
    """
    usual = {name: max(most, problem.widest.get(name, 0)) for name, most in problem.largest.items()}
    beyond = any(value > usual.get(name, value) for name, value in case.sizes.items())
    return beyond and all(finding.kind == "timeout" for finding in findings)


def _out_of_time(seconds: float, done: int, cases: int) -> Finding:
    message = (
        f"stopped after {seconds:.3g} s, in which {done} of {cases} cases were run: each launch ends, and all "
        "take too long (GRIDSTRIDE_TIME_LIMIT gives a launch longer, and a verdict as many times longer)"
    )
    return Finding("timeout", message)


@dataclass(frozen=True, slots=True)
class _Judgement:
    """Of the runs on one input: what is wrong, the largest error, whether they left the same bits, and the first's path
    through the kernel.
    """

    findings: tuple[Finding, ...] = ()
    error: float | None = None
    repeatable: bool = True
    path: KernelPath = UNKNOWN_PATH


def _judge_case(problem: Problem, subject: Subject, prepared_case: PreparedCase) -> _Judgement:
    inputs = (
        [prepared_case.inputs] if prepared_case.second is None else [prepared_case.inputs, prepared_case.second.inputs]
    )
    try:
        done = subject.attempt(problem.signature, prepared_case.case, inputs)
    except ExpressionError as error:
        return _Judgement((Finding("launch", f"{error} ({prepared_case.case})"),))
    if done.findings:
        findings = without_order(done.findings) if subject.facts.by_name else done.findings
        return _Judgement(_in_case(findings, prepared_case.case))
    first = _judge_results(problem, subject, prepared_case, done.results[:2])
    if first.findings or prepared_case.second is None:
        return replace(first, path=done.path)
    second = _judge_results(problem, subject, prepared_case.second, done.results[2:], number=1)
    return replace(second, repeatable=first.repeatable and second.repeatable, path=done.path)


def _in_case(findings: Iterable[Finding], case: Case) -> tuple[Finding, ...]:
    return tuple(f if f.kind == "unsupported" else replace(f, message=f"{f.message} ({case})") for f in findings)


def refused_launch(problem: Problem, subject: Subject) -> tuple[Finding, ...]:
    """What hardware would say of the launch at the sizes that are not run: those that are timed, and the largest."""
    for what, sizes in (("timed", problem.timed), ("largest", problem.largest)):
        launch_text = f"{' '.join(f'{name}={value}' for name, value in sizes.items())}, the {what} size"
        try:
            refusal = subject.refusal(sizes)
        except ExpressionError as error:
            refusal = str(error)
        if refusal:
            return (Finding("launch", f"{refusal} ({launch_text})"),)
    return ()


def observe(problem: Problem, subject: Subject, prepared_case: PreparedCase) -> tuple[Any, tuple[Finding, ...]]:
    """Run one case with counters: the run, and what is wrong with it."""
    done = subject.observed(problem.signature, prepared_case.case, prepared_case.inputs)
    if done.findings or done.results is None:
        return done.run, _in_case(done.findings, prepared_case.case)
    return done.run, _judge_results(problem, subject, prepared_case, (done.results,)).findings


def totals(run: Any) -> dict[str, float]:
    """The counters of a whole run, by name."""
    return {name: float(getattr(run.counters, name)) for name in COUNTERS}


def _judge_results(
    problem: Problem,
    subject: Subject,
    prepared_case: PreparedCase,
    runs: Sequence[dict[str, Array]],
    *,
    number: int = 0,
) -> _Judgement:
    """What is wrong in one run or in two, in turn and in the case's order: the number of the input says which first."""
    ordered = ordered_first(prepared_case.case, number)
    second = "in turn" if ordered else IN_ORDER[prepared_case.case.order]
    findings: list[Finding] = []
    worst, repeatable = 0.0, True
    for name in prepared_case.expected:
        outputs = [run[name] for run in runs]
        first, last = outputs[0], outputs[-1]
        output = _Output(problem, subject, prepared_case, name)
        comparison = output.compared(runs[0])
        worst = max(worst, comparison.max_error)
        if not comparison.passed:
            just_loaded = prepared_case.case.fresh and number == 0
            stale = not just_loaded and output.right_when_loaded_anew(ordered=ordered)
            finding = output.wrong(outputs, comparison, stale=stale)
            run_text = "The module was loaded anew, and this run went" if prepared_case.case.fresh else "This run went"
            ran = f"{run_text} {IN_ORDER[prepared_case.case.order]}; in turn it is right"
            only_first_wrong = ordered and len(runs) > 1 and output.compared(runs[-1]).passed
            findings.append(
                replace(finding, message=f"{finding.message}. {ran}") if only_first_wrong and not stale else finding
            )
        elif len(runs) > 1 and not (second_comparison := output.compared(runs[-1])).passed:
            stale = output.right_when_loaded_anew(ordered=not ordered)
            findings.append(output.wrong_in_order(outputs, second_comparison, second, stale=stale))
        elif not repeated(first, last, bitwise=problem.bitwise):
            repeatable = False
            if problem.same_bits or not (problem.unrepeatable or subject.facts.atomics):
                findings.append(Finding("unrepeatable", f"{differing(name, first, last)} ({prepared_case.case})"))
    return _Judgement(tuple(findings), worst, repeatable)


@dataclass(frozen=True, slots=True)
class _Output:
    """One output of a case, and the kernel that writes it."""

    problem: Problem
    subject: Subject
    prepared_case: PreparedCase
    name: str

    def compared(self, results: Values) -> Comparison:
        return compared(self.problem, self.prepared_case, self.name, results)

    def wrong(self, outputs: Sequence[Array], comparison: Comparison, *, stale: bool) -> Finding:
        return wrong_result(self.problem, self.subject, self.prepared_case, self.name, outputs, comparison, stale=stale)

    def right_when_loaded_anew(self, *, ordered: bool) -> bool:
        """Whether what a launch left wrong is right where the module was just loaded, on the same data and in the same
        order of blocks: then the launches before are to blame, and what they left.
        """
        case = replace(self.prepared_case.case, fresh=True, once=not ordered, again=False, swapped=False)
        done = self.subject.attempt(self.problem.signature, case, [self.prepared_case.inputs])
        return bool(done.results) and self.compared(done.results[0]).passed

    def wrong_in_order(self, outputs: Sequence[Array], comparison: Comparison, how: str, *, stale: bool) -> Finding:
        """What was right the first time and is wrong the second, when the blocks went as `how` says."""
        first, second = outputs
        if wrote_less(first, second):
            return Finding("unrepeatable", f"{differing(self.name, first, second)} ({self.prepared_case.case})")
        finding = self.wrong((second,), comparison, stale=stale)
        first_run = "The first run on the same data is right"
        order = "" if stale else f", this one ran {how}: {_PROMISE}"
        return replace(finding, message=f"{finding.message}. {first_run}{order}")


def compared(problem: Problem, prepared_case: PreparedCase, name: str, results: Values) -> Comparison:
    """An output against what it must be, or against what must hold of it."""
    if name not in problem.invariants:
        return compare(results[name], prepared_case.expected[name])
    wide = {input_name: widened(value) for input_name, value in prepared_case.inputs.items()}
    wrong = marked(problem, prepared_case.case, name, wide, results)
    return Comparison(not wrong.any(), np.array(wrong, bool), 0.0)
