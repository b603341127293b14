"""Findings and notes on a kernel that follow from all of its cases together, not from one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gridstride.judge.cases.coverage import Coverage
from gridstride.judge.cases.path_cases import never_run
from gridstride.judge.cases.product_cases import size_arguments
from gridstride.judge.cases.size_products import HELD
from gridstride.judge.execution.runnable import Runnable
from gridstride.judge.problem import Case, Problem
from gridstride.judge.results.outgrown import outgrown
from gridstride.judge.sandbox.subject import SandboxedKernel
from gridstride.judge.verdict import Finding
from gridstride.judge.verify import Verification

_OF_A_PRODUCT = frozenset({"wrong_result", "out_of_bounds", "uninitialised_read"})
_ARGUMENTS_AT_FAULT = frozenset({"wrong_result", "input_changed", "out_of_bounds", "uninitialised_read"})


def outgrown_variables(
    problem: Problem, verification: Verification, runnable: Runnable | SandboxedKernel
) -> tuple[Finding, ...]:
    """Variables of the kernel's module that are too small for the timed size."""
    if not any(path.variables for path in verification.paths):
        return ()
    grids = [runnable.shape(case.sizes, case.multiprocessors).grid for case in verification.passed]
    sizes = " ".join(f"{name}={value}" for name, value in problem.timed.items())
    return outgrown(grids, verification.paths, runnable.shape(problem.timed).grid, sizes)


def with_products_that_wrap(
    findings: tuple[Finding, ...], problem: Problem, runnable: Runnable | SandboxedKernel, failed: Case | None
) -> tuple[Finding, ...]:
    """Wrong results at a size at which a product of 32 bits may wrap: the first finding names its line."""
    if failed is None or not findings or findings[0].kind not in _OF_A_PRODUCT:
        return findings
    shape, sizes = runnable.shape(failed.sizes, failed.multiprocessors), size_arguments(problem, failed.sizes)
    lines = sorted({product.line for product in runnable.facts.products if product.wraps(shape, sizes)} - {0})
    if not lines:
        return findings
    first, *remaining = findings
    message = (
        f"{first.message}\nAt this size the product in line {lines[0]} may be above {HELD:,}, and begins at 0 again "
        "where 32 bits do not hold it. Make it in 64 bits: (long long)blockIdx.x * …"
    )
    return (replace(first, message=message), *remaining)


def missing_classes(case_coverage: Coverage) -> tuple[Finding, ...]:
    """A kernel that was not run on every class of cases has not passed."""
    missing = case_coverage.missing
    if not missing:
        return ()
    return (Finding("incomplete", f"no verdict: no case of {len(missing)} classes was run, such as {missing[0]}"),)


def unreached_lines(verification: Verification) -> tuple[str, ...]:
    """A note on lines that no case ran."""
    lines = never_run(verification.paths)
    if verification.findings or not lines:
        return ()
    which = f"line {lines[0]} was" if len(lines) == 1 else f"lines {', '.join(map(str, lines))} were"
    return (f"{which} run in none of the {verification.cases} cases: the verdict says nothing about that",)


def with_parameter_notes(findings: tuple[Finding, ...], notes: Sequence[str]) -> tuple[Finding, ...]:
    """Wrong results may come of arguments taken for others: the first finding says what was taken for what."""
    first, *remaining = findings
    about = [note for note in notes if "parameters" in note]
    if first.kind not in _ARGUMENTS_AT_FAULT or not about:
        return findings
    return (replace(first, message="\n".join([first.message, *about])), *remaining)
