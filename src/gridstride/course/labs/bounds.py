"""Bounds on what a lab's kernel or program counts: a right answer alone does not show that the day was understood."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gridstride.course.figures.arithmetic import evaluate
from gridstride.course.figures.figures import counted, of_line, of_run, plain_number
from gridstride.course.labs.lab_verdict import LabFinding
from gridstride.course.lesson import Bound, Day

KIND, TOO_FEW = "too_many", "too_few"
KINDS = (KIND, TOO_FEW)
UNORDERED = "unordered"
"""The figure of what touches the same bytes and nothing orders: a lab's ordered runs are held to its bound."""


def exceeded(day: Day, run: Any) -> tuple[LabFinding, ...]:
    """A finding for each bound of the lab that the run goes beyond; `where` is the figure's name."""
    return tuple(_findings(day, run))


def out_of_bounds(day: Day, counts: Mapping[str, float], only: Collection[str] | None = None) -> Iterator[LabFinding]:
    """A finding for each bound of the lab, or on these figures `only`, that the counts are beyond."""
    for bound in day.lab.bounds:
        if only is not None and bound.figure not in only:
            continue
        try:
            value = evaluate(day.figures[bound.figure].value, counts)
        except ValueError as error:  # something is divided by what there is none of
            message = f"{bound.figure.replace('_', ' ')} cannot be said, as {error}. {bound.why}"
            yield LabFinding(TOO_FEW, message, where=bound.figure, shown=(f"{TOO_FEW.replace('_', ' ')}: {message}",))
            continue
        if bound.least <= value <= bound.most:
            continue
        number = _count(day, bound.figure, counts)
        if value > bound.most:
            kind, allowed = KIND, f"this lab allows {plain_number(bound.most)}"
        else:
            kind, allowed = TOO_FEW, f"this lab asks for {plain_number(bound.least)} or more"
        of = " and ".join(_count(day, name, counts) for name in bound.shows)
        message = f"{number}{of and f' ({of})'}, where {allowed}. {bound.why}"
        yield LabFinding(kind, message, where=bound.figure, shown=(f"{kind.replace('_', ' ')}: {message}",))


def _count(day: Day, name: str, counts: Mapping[str, float]) -> str:
    figure = day.figures[name]
    return counted(evaluate(figure.value, counts), figure.unit or name.replace("_", " "))


def _findings(day: Day, run: Any) -> Iterator[LabFinding]:
    bounds = {bound.figure: bound for bound in day.lab.bounds}
    for exceeded in out_of_bounds(day, of_run(run)):
        bound = bounds[exceeded.where]
        yield replace(exceeded, line=_worst_line(bound, day.figures[bound.figure].value, run))


def _worst_line(bound: Bound, expression: str, run: Any) -> int | None:
    """The source line that is beyond the bound by itself, the worst of several; None where it takes all together."""
    blocks = math.prod(run.grid)
    launch = {"blocks": blocks, "threads": blocks * math.prod(run.block)}
    worst: int | None = None
    most = bound.most
    for line in run.counters.lines:
        try:
            value = evaluate(expression, {**launch, **of_line(line)})
        except ValueError:  # nothing of the kind on this line, or a figure of the whole run
            continue
        if value > most:
            worst, most = line.line, value
    return worst
