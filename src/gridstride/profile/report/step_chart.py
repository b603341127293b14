"""How long each step took, as a row of columns: warming up, stragglers and drifts show at once."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from markupsafe import Markup

from gridstride.judge.report.svg import drawing, tag
from gridstride.profile.view import milliseconds

_WIDTH, _HEIGHT, _LEFT, _TOP = 1180.0, 150.0, 150.0, 14.0
_MOST = 500  # columns; of more steps each shows the longest of several
_WIDEST = 24.0
_LINE = 13.0  # of text


def step_chart(durations: Sequence[int]) -> Markup:
    """The picture of the steps' lengths, in nanoseconds."""
    steps_per_bar = -(-len(durations) // _MOST)
    columns = [max(durations[at : at + steps_per_bar]) for at in range(0, len(durations), steps_per_bar)]
    median, most = statistics.median(durations), max(durations)
    width = min(_WIDEST, (_WIDTH - _LEFT) / len(columns))
    bars = [
        tag("rect", x=_LEFT + number * width, y=_y(length, most), width=max(0.7, width - min(1.0, width / 4)),
            height=_HEIGHT - _y(length, most), class_="bar" if length > 1.5 * median else "bar weak")
        for number, length in enumerate(columns)
    ]  # fmt: skip
    description = f"{len(durations)} steps: {milliseconds(median)} in the median, {milliseconds(most)} the longest"
    marks = [_mark(median, most, "median")]
    if _y(median, most) - _y(most, most) > _LINE:  # else the two texts would lie on each other
        marks.append(_mark(most, most, "longest"))
    return drawing(_WIDTH, _HEIGHT + 4, description, *bars, *marks)


def _y(length: float, most: int) -> float:
    return _TOP + (1 - length / most) * (_HEIGHT - _TOP)


def _mark(length: float, most: int, name: str) -> Markup:
    y = _y(length, most)
    return tag(
        "g",
        tag("line", x1=_LEFT, x2=_WIDTH, y1=y, y2=y, class_="mark"),
        tag("text", f"{name} {milliseconds(length)}", x=_LEFT - 12, y=y + 4, text_anchor="end", class_="note"),
    )
