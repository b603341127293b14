"""Runs a kernel on cases and says whether it is right and safe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.judge.blame import blame
from gridstride.judge.buffers import Buffers, never_written
from gridstride.judge.data import generate, widened
from gridstride.judge.patterns import Evidence, describe
from gridstride.judge.problem import Array, Case, Problem
from gridstride.judge.runnable import Runnable
from gridstride.judge.symbols import ExpressionError
from gridstride.judge.tolerance import Comparison, Expected, compare, expect
from gridstride.judge.verdict import Finding
from gridstride.protocol import DeviceError, LaunchError
from gridstride.virtual.errors import UnsupportedInstruction
from gridstride.virtual.observe.findings import KernelFault

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
    """A case with its data and what each output must be; made once, used for every kernel."""

    case: Case
    inputs: dict[str, Any]
    expected: dict[str, Expected]


@dataclass(frozen=True, slots=True)
class Verification:
    """What verifying gave. `max_error` is None when nothing could be compared; `failed` is the case that failed."""

    findings: tuple[Finding, ...]
    max_error: float | None
    cases: int
    failed: Case | None = None


def prepare(problem: Problem, cases: Iterable[Case]) -> tuple[Prepared, ...]:
    """Data and expected results of each case."""
    return tuple(_prepare(problem, case) for case in cases)


def _prepare(problem: Problem, case: Case) -> Prepared:
    inputs = generate(problem, case)
    wide = {name: widened(value) for name, value in inputs.items()}
    with np.errstate(all="ignore"):
        values = problem.reference(wide)
        magnitudes = problem.magnitude(wide) if problem.magnitude else {}
    expected = {
        p.name: expect(problem, case, p, np.asarray(values[p.name]), magnitudes.get(p.name)) for p in problem.outputs
    }
    return Prepared(case, inputs, expected)


def verify(
    problem: Problem,
    runnable: Runnable,
    prepared: Sequence[Prepared],
    *,
    progress: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Run every case until one fails: right, safe, repeatable, and nothing else touched."""
    worst: float | None = None
    for number, one in enumerate(prepared):
        progress(str(one.case))
        findings, error = _judge_case(problem, runnable, one)
        worst = error if worst is None else max(worst, error if error is not None else worst)
        if findings:
            return Verification(findings, worst, number + 1, one.case)
    return Verification((), worst, len(prepared))


def _judge_case(problem: Problem, runnable: Runnable, one: Prepared) -> tuple[tuple[Finding, ...], float | None]:
    try:
        buffers = Buffers(runnable.device, problem, one.case.sizes, one.inputs)
        runs = []
        for run in range(2):
            buffers.fill(run)
            found = _launch(runnable, one.case, buffers, sanitize=run == 0)
            if found:
                return found, None
            runs.append(buffers.results())
            if touched := _touched(buffers, one.case):
                return touched, None
    except KernelFault as fault:
        return _translated(fault.findings, one.case), None
    except (LaunchError, ExpressionError) as error:
        return (Finding("launch", f"{error} ({one.case})"),), None
    except UnsupportedInstruction as error:
        return (Finding("unsupported", str(error), error.line),), None
    except DeviceError as error:
        return (Finding("fault", f"{error} ({one.case})"),), None
    return _judge_results(problem, runnable, one, runs)


def observe(problem: Problem, runnable: Runnable, one: Prepared) -> tuple[Any, tuple[Finding, ...]]:
    """Run one case with counters: the run, and what is wrong with it."""
    buffers = Buffers(runnable.device, problem, one.case.sizes, one.inputs)
    buffers.fill(0)
    try:
        run = runnable.observe(one.case, buffers.arguments)
    except KernelFault as fault:
        return None, _translated(fault.findings, one.case)
    if run.findings:
        return run, _translated(run.findings, one.case)
    results = buffers.results()
    findings, _ = _judge_results(problem, runnable, one, (results, results))
    return run, findings


def totals(run: Any) -> dict[str, float]:
    """The counters of a whole run, by name."""
    return {name: float(getattr(run.counters, name)) for name in COUNTERS}


def _launch(runnable: Runnable, case: Case, buffers: Buffers, *, sanitize: bool) -> tuple[Finding, ...]:
    """One of the runs; the first one on the virtual GPU is under the sanitizer, which is slower and sees more."""
    if sanitize and runnable.device.kind == "virtual":
        return _translated(runnable.observe(case, buffers.arguments).findings, case)
    runnable.run(case, buffers.arguments)
    return ()


def _translated(findings: Iterable[Any], case: Case) -> tuple[Finding, ...]:
    """The virtual GPU's findings as the judge's; those of one kind on one line are one."""
    translated: dict[tuple[str, int | None], Finding] = {}
    for found in findings:
        place = {"block": found.block, "thread": found.thread} if found.thread is not None else None
        translated.setdefault(
            (found.kind, found.line), Finding(found.kind, f"{found.message} ({case})", found.line, place)
        )
    return tuple(translated.values())


def _touched(buffers: Buffers, case: Case) -> tuple[Finding, ...]:
    found = [
        Finding("input_changed", f"the kernel wrote to its input {name} ({case})") for name in buffers.changed_inputs()
    ]
    for name, distance in buffers.broken_guards():
        where = f"{-distance} bytes before {name}" if distance < 0 else f"{distance} bytes past the end of {name}"
        found.append(Finding("out_of_bounds", f"the kernel wrote {where} ({case})"))
    return tuple(found)


def _judge_results(
    problem: Problem, runnable: Runnable, one: Prepared, runs: Sequence[dict[str, Array]]
) -> tuple[tuple[Finding, ...], float]:
    findings: list[Finding] = []
    worst = 0.0
    for name, expected in one.expected.items():
        first, second = runs[0][name], runs[1][name]
        comparison = compare(first, expected)
        worst = max(worst, comparison.max_error)
        if not comparison.passed:
            findings.append(_wrong(problem, runnable, one, name, (first, second), comparison))
        elif first.tobytes() != second.tobytes() and not problem.unrepeatable:
            differing = int((first != second).sum())
            message = f"two runs on the same data differ in {differing} elements of {name}: a race ({one.case})"
            findings.append(Finding("unrepeatable", message))
        elif problem.unrepeatable and not compare(second, expected).passed:
            findings.append(_wrong(problem, runnable, one, name, (second, second), compare(second, expected)))
    return tuple(findings), worst


def _wrong(
    problem: Problem, runnable: Runnable, one: Prepared, name: str, runs: tuple[Array, Array], comparison: Comparison
) -> Finding:
    expected = one.expected[name].values
    unwritten = never_written(*runs)
    pattern = describe(Evidence(runs[0], expected, comparison.wrong, unwritten))
    shape = runnable.shape(one.case.sizes, one.case.multiprocessors)
    to_blame = blame(problem, runnable, one.case, one.inputs, name, comparison.wrong, unwritten)
    told = str(pattern) if str(pattern)[-1] in ".?" else f"{pattern}."
    said = f"{told} {to_blame.text}" if to_blame else str(pattern)
    message = f"{name}: {said} (launched with {shape}; {one.case})"
    line, place = (to_blame.line, to_blame.place) if to_blame else (None, None)
    return Finding("wrong_result", message, line, place, pattern=pattern.name)
