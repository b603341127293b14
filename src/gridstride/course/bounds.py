"""Upper bounds on what a lab's kernel may count: a right answer alone does not show that the day was understood."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gridstride.course.arithmetic import evaluate
from gridstride.course.figures import counted, of_line, of_run, plain_number
from gridstride.course.lab_verdict import LabFinding
from gridstride.course.lesson import Bound, Day

KIND = "too_many"


def exceeded(day: Day, run: Any) -> tuple[LabFinding, ...]:
    """A finding for each bound of the lab that the run goes beyond; `where` is the figure's name."""
    return tuple(_findings(day, run))


def _findings(day: Day, run: Any) -> Iterator[LabFinding]:
    counts = of_run(run)
    for bound in day.lab.bounds:
        figure = day.figures[bound.figure]
        value = evaluate(figure.value, counts)
        if value > bound.most:
            unit = figure.unit or bound.figure.replace("_", " ")
            message = f"{counted(value, unit)}, where this lab allows {plain_number(bound.most)}. {bound.why}"
            yield LabFinding(KIND, message, _worst_line(bound, figure.value, run), where=bound.figure)


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
