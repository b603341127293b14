"""The ladder as a picture: a row for each rung, a column of bars for each thing that was counted or timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gridstride.judge.report.svg import drawing, tag
from gridstride.virtual.observe.figures import short, times

_WIDTH = 1180
_NAMES = 186  # pixels for the rungs' names
_HEAD = 44
_ROW = 30
_BAR = 12
_VALUES = 92  # pixels beside the longest bar, for its figure
_GAP = 18


@dataclass(frozen=True, slots=True)
class Mark:
    """A line down a column: a peer or a limit."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Column:
    """Bars of one thing; None where a rung has no figure. `note` stands under the name, `marks` are drawn as lines.

    `more_is_better` turns the ratio to the first figure round.
    """

    name: str
    note: str
    values: Sequence[float | None]
    more_is_better: bool = False
    predicted: bool = False
    marks: Sequence[Mark] = ()


def ladder_chart(names: Sequence[str], failed: Sequence[bool], columns: Sequence[Column]) -> Markup:
    """The picture; every column has a scale of its own, from 0 to its largest value."""
    height = _HEAD + _ROW * len(names) + 6
    parts = [_rows(names, failed)]
    share = (_WIDTH - _NAMES) / (sum(_weight(column) for column in columns) or 1)
    x: float = _NAMES
    for column in columns:
        width = share * _weight(column)
        parts.append(_column(column, x, width - _GAP, height))
        x += width
    told = ", ".join(column.name for column in columns)
    return drawing(_WIDTH, height, f"Bars for each rung: {told}. The figures are in the table of counters.", *parts)


def _rows(names: Sequence[str], failed: Sequence[bool]) -> Markup:
    parts = []
    for number, (name, bad) in enumerate(zip(names, failed, strict=True)):
        y = _HEAD + _ROW * number
        parts.append(tag("line", x1=0, x2=_WIDTH, y1=y, y2=y, class_="rule"))
        parts.append(tag("text", name, x=0, y=_middle(number), class_="name failed" if bad else "name"))
    return tag("g", *parts)


def _weight(column: Column) -> float:
    """A column with lines to compare with takes more room."""
    return 1.5 if column.marks else 1.0


def _column(column: Column, x: float, width: float, height: float) -> Markup:
    known = [value for value in column.values if value is not None]
    scale = max([*known, *(mark.value for mark in column.marks)], default=0) or 1
    longest = width - _VALUES
    first = next((value for value in known if value), None)
    parts = [
        tag("text", column.name, x=x, y=15, class_="head"),
        tag("text", column.note, x=x, y=31, class_="note"),
    ]
    for mark in column.marks:
        parts += _mark(mark, x + longest * mark.value / scale, height, last=mark.value == scale)
    for number, value in enumerate(column.values):
        length = longest * (value or 0) / scale
        # Beside the bar, but clear of the lines that cross the column.
        parts += _bar(column, number, value, x, length, x + (longest if column.marks else length) + 7, first)
    return tag("g", *parts)


def _mark(mark: Mark, x: float, height: float, *, last: bool) -> list[Markup]:
    """The line with its name at its head: to the left, but for the outermost, which has room to the right."""
    name = tag(
        "text", mark.name, x=x + 4 if last else x - 4, y=31, class_="note", text_anchor="start" if last else "end"
    )
    return [tag("line", x1=x, x2=x, y1=20, y2=height, class_="mark"), name]


def _bar(
    column: Column, number: int, value: float | None, x: float, length: float, beside: float, first: float | None
) -> list[Markup]:
    y = _middle(number)
    if value is None:
        return [tag("text", "–", x=x, y=y, class_="note")]
    shape = "bar predicted" if column.predicted else "bar"
    seen = max(length, 1.0) if value else 0.0  # a little is still not nothing
    bar = tag("rect", x=x, y=y - _BAR / 2 - 4, width=seen, height=_BAR, rx=1.5, class_=shape)
    figure = tag("tspan", short(value), class_="value")
    ratio = tag("tspan", f" {_ratio(value, first, column.more_is_better)}", class_="ratio")
    return [bar, tag("text", figure, ratio, x=beside, y=y)]


def _ratio(value: float, first: float | None, more_is_better: bool) -> str:
    if not first or not value or value == first:
        return ""
    if more_is_better:
        return times(value / first)
    return f"÷{times(first / value).rstrip('×')}" if value < first else times(value / first)


def _middle(number: int) -> float:
    return _HEAD + _ROW * number + _ROW / 2 + 4
