"""What a table's rows that are kernels hold: a rung's counts and its limiter, as `gridstride explain` gives them."""

from __future__ import annotations

import functools

from gridstride.course.figures.figures import of_line
from gridstride.course.lesson import KernelRow

LIMITER = "limiter"  # the value of a column of words
BUSIEST = "busiest_percent"


def value_names() -> frozenset[str]:
    """What a column of numbers may speak of: counts at the observed size, and the busiest part's share at the timed."""
    from gridstride.virtual.observe.line_counters import LineCounters

    return frozenset((BUSIEST, *of_line(LineCounters())))


def rung_exists(row: KernelRow) -> bool:
    """Whether the problem's ladder has that rung."""
    from gridstride.judge.find import find

    return row.rung in [rung.name for rung in find(row.problem).rungs()]


@functools.cache
def explained(row: KernelRow) -> tuple[str, dict[str, float]]:
    """The limiter at the problem's timed size, and the values that columns of numbers speak of."""
    from gridstride.judge.execution.runnable import build
    from gridstride.judge.explain.at_size import timed
    from gridstride.judge.explain.resources import resources
    from gridstride.judge.find import find
    from gridstride.judge.problem import Case
    from gridstride.judge.reference.prepared_cases import prepare
    from gridstride.virtual.gpu import VirtualGPU

    folder = find(row.problem)
    problem = folder.problem
    kernel = next(rung for rung in folder.rungs() if rung.name == row.rung)
    (prepared_case,) = prepare(problem, [Case(problem.observed, "normal", 0)])
    subject = build(problem, kernel, VirtualGPU(row.chip))
    run = subject.observed(problem.signature, prepared_case.case, prepared_case.inputs).run
    assert run is not None, row  # a rung that does not pass fails the tests of its ladder
    at = timed(problem, subject, run)
    predicted = at.predict()
    busiest = resources(at, predicted.ms)[0]
    return predicted.limiter, {BUSIEST: 100 * busiest.share, **of_line(run.counters)}
