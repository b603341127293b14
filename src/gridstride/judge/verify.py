"""Runs a kernel on cases and says whether it is right and safe."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from gridstride.judge.access_map import Access
from gridstride.judge.answers import answers, drawn, marked
from gridstride.judge.attempt import IN_ORDER, Attempt, Observed, ordered_first, without_order
from gridstride.judge.blame import Blame
from gridstride.judge.buffers import never_written, poisoned
from gridstride.judge.data import partly, widened
from gridstride.judge.header import Launch, LaunchShape
from gridstride.judge.kernel_facts import KernelFacts
from gridstride.judge.patterns import Evidence, Pattern, describe
from gridstride.judge.problem import Array, Case, Problem, Signature, Sizes, Values
from gridstride.judge.sizes import FLOAT_WIDTH
from gridstride.judge.symbols import ExpressionError
from gridstride.judge.tolerance import Comparison, Expected, compare, expect
from gridstride.judge.verdict import Finding

_OTHER_SEED = 1 << 20  # apart from the seeds of the public cases
_KEPT = (
    "On the same data a launch is right where the module was just loaded: something is kept from the launches before, "
    "such as a counter, a flag or a value in a __device__ variable"
)
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
class Prepared:
    """A case with its data and what each output must be; made once, used for every kernel.

    `then` is other data of the same shape, which the kernel finds in the same memory afterwards, and in other memory.
    """

    case: Case
    inputs: dict[str, Any]
    expected: dict[str, Expected]
    then: Prepared | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """What verifying gave. `max_error` is None when nothing could be compared; `failed` is the case that failed.
    `seen` are the cases that passed, `repeatable` whether each of their runs left the same bits: where atomics take
    turns in any order, sums are rounded in any.
    """

    findings: tuple[Finding, ...]
    max_error: float | None
    seen: tuple[Case, ...]
    failed: Case | None = None
    repeatable: bool = True

    @property
    def cases(self) -> int:
        """How many were run."""
        return len(self.seen) + (self.failed is not None)


class Subject(Protocol):
    """A kernel to be judged, wherever it runs."""

    def refusal(self, sizes: Sizes) -> str:
        """Why hardware would refuse the launch for these sizes, without running it; empty where it would not."""

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

    @property
    def facts(self) -> KernelFacts:
        """What the kernel's text says of it."""

    @property
    def launch(self) -> Launch:
        """Grid and block in expressions over the sizes."""

    def shape(self, sizes: Sizes, multiprocessors: int | None = None) -> LaunchShape:
        """Grid and block for these sizes."""


def prepare(problem: Problem, cases: Iterable[Case]) -> tuple[Prepared, ...]:
    """Data and expected results of each case, and of the data that comes after it where other data does."""
    return tuple(_followed(problem, case) for case in cases)


def _followed(problem: Problem, case: Case) -> Prepared:
    """Every other time what follows is data that differ in some places only; not where they must fit each other."""
    inputs = drawn(problem, case)
    one = _prepare(problem, case, inputs)
    if not case.again:
        return one
    other = replace(case, seed=case.seed + _OTHER_SEED)
    then = drawn(problem, other)
    if case.seed // 2 % 2 and case.data not in problem.special and problem.arrange is None:
        then = partly(problem, inputs, then, other.seed)
    return replace(one, then=_prepare(problem, other, then))


def _prepare(problem: Problem, case: Case, inputs: dict[str, Any]) -> Prepared:
    wide = inputs if problem.bitwise else {name: widened(value) for name, value in inputs.items()}
    values, magnitudes = answers(problem, case, wide)
    expected = {p.name: expect(problem, case, p, values[p.name], magnitudes.get(p.name)) for p in problem.outputs}
    return Prepared(case, inputs, expected)


def verify(
    problem: Problem,
    subject: Subject,
    prepared: Sequence[Prepared],
    *,
    seconds: float = math.inf,
    progress: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Run every case until one fails, or `seconds` have passed: right, safe, repeatable, and nothing else touched."""
    worst: float | None = None
    end = time.monotonic() + seconds
    seen: list[Case] = []
    repeatable = True
    for one in prepared:
        if time.monotonic() > end:
            return Verification((_out_of_time(seconds, len(seen), len(prepared)),), worst, tuple(seen), one.case)
        progress(str(one.case))
        done = _judge_case(problem, subject, one)
        worst = done.error if worst is None else max(worst, done.error if done.error is not None else worst)
        if done.findings:
            return Verification(done.findings, worst, tuple(seen), one.case)
        repeatable &= done.repeatable
        seen.append(one.case)
    return Verification((), worst, tuple(seen), repeatable=repeatable)


def _out_of_time(seconds: float, done: int, cases: int) -> Finding:
    message = (
        f"stopped after {seconds:.3g} s, in which {done} of {cases} cases were run: each launch ends, and all "
        "take too long (GRIDSTRIDE_TIME_LIMIT gives a launch longer, and a verdict as many times longer)"
    )
    return Finding("timeout", message)


@dataclass(frozen=True, slots=True)
class _Judgement:
    """Of the runs on one input: what is wrong, the largest error, and whether they left the same bits."""

    findings: tuple[Finding, ...] = ()
    error: float | None = None
    repeatable: bool = True


def _judge_case(problem: Problem, subject: Subject, one: Prepared) -> _Judgement:
    inputs = [one.inputs] if one.then is None else [one.inputs, one.then.inputs]
    try:
        done = subject.attempt(problem.signature, one.case, inputs)
    except ExpressionError as error:
        return _Judgement((Finding("launch", f"{error} ({one.case})"),))
    if done.findings:
        found = without_order(done.findings) if subject.facts.by_name else done.findings
        return _Judgement(_in_case(found, one.case))
    first = _judge_results(problem, subject, one, done.results[:2])
    if first.findings or one.then is None:
        return first
    then = _judge_results(problem, subject, one.then, done.results[2:], number=1)
    return replace(then, repeatable=first.repeatable and then.repeatable)


def _in_case(findings: Iterable[Finding], case: Case) -> tuple[Finding, ...]:
    return tuple(f if f.kind == "unsupported" else replace(f, message=f"{f.message} ({case})") for f in findings)


def refused_launch(problem: Problem, subject: Subject) -> tuple[Finding, ...]:
    """What hardware would say of the launch at the sizes that are not run: those that are timed, and the largest."""
    for what, sizes in (("timed", problem.timed), ("largest", problem.largest)):
        given = f"{' '.join(f'{name}={value}' for name, value in sizes.items())}, the {what} size"
        try:
            refusal = subject.refusal(sizes)
        except ExpressionError as error:
            refusal = str(error)
        if refusal:
            return (Finding("launch", f"{refusal} ({given})"),)
    return ()


def observe(problem: Problem, subject: Subject, one: Prepared) -> tuple[Any, tuple[Finding, ...]]:
    """Run one case with counters: the run, and what is wrong with it."""
    done = subject.observed(problem.signature, one.case, one.inputs)
    if done.findings or done.results is None:
        return done.run, _in_case(done.findings, one.case)
    return done.run, _judge_results(problem, subject, one, (done.results,)).findings


def totals(run: Any) -> dict[str, float]:
    """The counters of a whole run, by name."""
    return {name: float(getattr(run.counters, name)) for name in COUNTERS}


def _judge_results(
    problem: Problem, subject: Subject, one: Prepared, runs: Sequence[dict[str, Array]], *, number: int = 0
) -> _Judgement:
    """What is wrong in one run or in two, in turn and in the case's order: the number of the input says which first."""
    ordered = ordered_first(one.case, number)
    second = "in turn" if ordered else IN_ORDER[one.case.order]
    findings: list[Finding] = []
    worst, repeatable = 0.0, True
    for name in one.expected:
        outputs = [run[name] for run in runs]
        first, last = outputs[0], outputs[-1]
        comparison = compared(problem, one, name, runs[0])
        worst = max(worst, comparison.max_error)
        if not comparison.passed:
            just_loaded = one.case.fresh and number == 0
            kept = not just_loaded and _right_when_loaded_anew(problem, subject, one, name, ordered=ordered)
            found = _wrong(problem, subject, one, name, outputs, comparison, kept=kept)
            anew = "The module was loaded anew, and this run went" if one.case.fresh else "This run went"
            ran = f"{anew} {IN_ORDER[one.case.order]}; in turn it is right"
            alone = ordered and len(runs) > 1 and compared(problem, one, name, runs[-1]).passed
            findings.append(replace(found, message=f"{found.message}. {ran}") if alone and not kept else found)
        elif len(runs) > 1 and not (again := compared(problem, one, name, runs[-1])).passed:
            kept = _right_when_loaded_anew(problem, subject, one, name, ordered=not ordered)
            findings.append(_wrong_in_order(problem, subject, one, name, outputs, again, second, kept=kept))
        elif not _repeated(first, last, bitwise=problem.bitwise):
            repeatable = False
            if not (problem.unrepeatable or subject.facts.atomics):
                findings.append(Finding("unrepeatable", f"{_differing(name, first, last)} ({one.case})"))
    return _Judgement(tuple(findings), worst, repeatable)


def _right_when_loaded_anew(problem: Problem, subject: Subject, one: Prepared, name: str, *, ordered: bool) -> bool:
    """Whether what a launch left wrong is right where the module was just loaded, on the same data and in the same
    order of blocks: then the launches before are to blame, and what they left.
    """
    case = replace(one.case, fresh=True, once=not ordered, again=False)
    done = subject.attempt(problem.signature, case, [one.inputs])
    return bool(done.results) and compared(problem, one, name, done.results[0]).passed


def _wrong_in_order(
    problem: Problem, subject: Subject, one: Prepared, name: str, outputs: Sequence[Array], comparison: Comparison,
    how: str, *, kept: bool,
) -> Finding:  # fmt: skip
    """What was right the first time and is wrong the second, when the blocks went as `how` says."""
    first, second = outputs
    if _idle(first, second):
        return Finding("unrepeatable", f"{_differing(name, first, second)} ({one.case})")
    found = _wrong(problem, subject, one, name, (second,), comparison, kept=kept)
    first_run = "The first run on the same data is right"
    return replace(found, message=f"{found.message}. {first_run}{'' if kept else f', this one ran {how}: {_PROMISE}'}")


def compared(problem: Problem, one: Prepared, name: str, results: Values) -> Comparison:
    """An output against what it must be, or against what must hold of it."""
    if name not in problem.invariants:
        return compare(results[name], one.expected[name])
    wide = {each: widened(value) for each, value in one.inputs.items()}
    wrong = marked(problem, one.case, name, wide, results)
    return Comparison(not wrong.any(), np.array(wrong, bool), 0.0)


def _repeated(first: Array, second: Array, *, bitwise: bool) -> bool:
    """Whether two runs left the same bits. What neither wrote holds another poison each time; which NaN comes of
    several hangs on their order, so any is as good unless the problem is `bitwise`.
    """
    if first.tobytes() == second.tobytes():
        return True
    raw = (np.ascontiguousarray(each).view(np.uint8).reshape(*first.shape, -1) for each in (first, second))
    same = np.equal(*raw).all(axis=-1) | never_written(first, second)
    if first.dtype.kind == "f" and not bitwise:
        same |= np.isnan(first) & np.isnan(second) & ~poisoned(first, 0) & ~poisoned(second, 1)
    return bool(same.all())


def _idle(first: Array, second: Array) -> bool:
    """Whether all that differs is what the second run did not write."""
    return int((first != second).sum()) == int(poisoned(second, 1).sum())


def _differing(name: str, first: Array, second: Array) -> str:
    differing, idle = int((first != second).sum()), int(poisoned(second, 1).sum())
    if idle == differing:
        return (
            f"the first run is right, but the second on the same data wrote nothing to {idle} elements of {name}: does "
            "the kernel do its work once only?"
        )
    return (
        f"two runs on the same data differ in {differing} elements of {name}: does the result depend on the order of "
        "threads, on a clock or on an address?"
    )


def _unwritten(runs: Sequence[Array]) -> Array:
    return never_written(*runs) if len(runs) > 1 else poisoned(runs[0], 0) | poisoned(runs[0], 1)


def _wrong(
    problem: Problem, subject: Subject, one: Prepared, name: str, runs: Sequence[Array], comparison: Comparison,
    *, kept: bool,
) -> Finding:  # fmt: skip
    """`kept`: the launches before are to blame, and no guess at what is wrong within one is worth anything."""
    expected = one.expected[name].values
    # A gap between rows is left as it was, and right. Of runs that differ the first alone says what it wrote.
    unwritten = _unwritten(runs[:1] if kept else runs) & comparison.wrong
    shape = subject.shape(one.case.sizes, one.case.multiprocessors)
    launched = {"blocks": math.prod(shape.grid), "block": math.prod(shape.block)}
    pattern = describe(Evidence(runs[0], expected, comparison.wrong, unwritten, **launched))
    wrong = comparison.wrong if pattern.elements is None else pattern.elements
    to_blame = None
    if not (kept and unwritten.any()):  # run again, it finds what other launches have left
        to_blame = subject.blame(problem.signature, one.case, one.inputs, name, wrong, unwritten)
    untouched = _untouched(one.inputs.get(name), runs[0], wrong, name)
    guesses = [untouched and f"{untouched}: does the kernel ever store its result?", _hint(subject, one.case, pattern)]
    guesses = [_KEPT] if kept else [pattern.mistake, *guesses]
    parts = [pattern.text, *guesses, to_blame.text if to_blame else ""]
    said = " ".join(part if part[-1] in ".?" else f"{part}." for part in parts if part).removesuffix(".")
    message = f"{name}: {said} (launched with {shape}; {one.case})"
    line, place = (to_blame.line, to_blame.place) if to_blame else (None, None)
    return Finding("wrong_result", message, line, place, pattern=pattern.name)


def _untouched(before: object, after: Array, wrong: Array, name: str) -> str:
    """Of an output that is an input as well: that what is wrong is what was there before; empty where it is not."""
    if not isinstance(before, np.ndarray) or before.shape != after.shape or before.dtype != after.dtype:
        return ""
    if not wrong.any() or before[wrong].tobytes() != after[wrong].tobytes():
        return ""
    what = "that is" if after.size == 1 else "those are"
    return f"{what.capitalize()} what {name} held before the launch"


def _hint(subject: Subject, case: Case, pattern: Pattern) -> str:
    """What the case itself says of the mistake; empty where it says nothing."""
    empty = [name for name, size in case.sizes.items() if size == 0]
    if empty and pattern.name == "never_written":
        return f"With {empty[0]}=0 there is nothing to go over, but what comes of that must still be written"
    if subject.facts.float_index and max(case.sizes.values()) > FLOAT_WIDTH:
        return f"Is an index held in a float? It is exact up to {FLOAT_WIDTH:,} only"
    return ""
