"""The ladder as a picture: a row for each rung, a column of bars for each thing that was counted or timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gridstride.judge.report.svg import WIDE, drawing, tag
from gridstride.virtual.observe.figures import short, times

_NAMES = 186  # pixels for the rungs' names
_HEAD = 44
_ROW = 30
_BAR = 12
_VALUES = 92  # pixels beside the longest bar, for its figure
_GAP = 18
_TALL = 38  # pixels of a narrow picture's row: the name, and below it the bar
_BETWEEN = 22  # pixels between two columns that stand below each other


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A line down a column: a peer or a limit."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """Bars of one thing; None where a rung has no figure. `note` stands under the name, `marks` are drawn as lines.

    `more_is_better` turns the ratio to the first figure round.
    """

    name: str
    note: str
    values: Sequence[float | None]
    more_is_better: bool = False
    predicted: bool = False
    marks: Sequence[ReferenceLine] = ()


def ladder_chart(
    names: Sequence[str], failed: Sequence[bool], columns: Sequence[ChartColumn], width: int = WIDE
) -> Markup:
    """The picture; every column has a scale of its own, from 0 to its largest value. Narrow: one below the other."""
    title = f"Bars for each rung: {', '.join(column.name for column in columns)}. "
    label = f"{title}The figures are in the table of counters."
    if width != WIDE:
        return _stacked(names, failed, columns, width, label)
    height = _HEAD + _ROW * len(names) + 6
    parts = [_rows(names, failed)]
    share = (width - _NAMES) / (sum(_weight(column) for column in columns) or 1)
    x: float = _NAMES
    for column in columns:
        wide = share * _weight(column)
        parts.append(_column(column, x, wide - _GAP, height))
        x += wide
    return drawing(width, height, label, *parts)


def _stacked(
    names: Sequence[str], failed: Sequence[bool], columns: Sequence[ChartColumn], width: int, label: str
) -> Markup:
    parts: list[Markup] = []
    y = 0.0
    for column in columns:
        drawn, height = _narrow_column(column, names, failed, width)
        parts.append(tag("g", *drawn, transform=f"translate(0 {y:g})"))
        y += height + _BETWEEN
    return drawing(width, y - _BETWEEN + 6 if columns else 6, label, *parts)


def _narrow_column(
    column: ChartColumn, names: Sequence[str], failed: Sequence[bool], width: int
) -> tuple[list[Markup], float]:
    """A column with the names above its bars, and its height. Lines to compare with are named from the left."""
    head = 24 + 16 * len(column.marks)
    height = head + _TALL * len(names)
    scale, first = _scale(column), next((value for value in column.values if value), None)
    parts = [tag("text", tag("tspan", column.name, class_="head"), tag("tspan", f"  {column.note}", class_="note"),
                 x=0, y=15)]  # fmt: skip
    marks = sorted(column.marks, key=lambda mark: mark.value)
    for index, mark in enumerate(marks):
        x, y = width * mark.value / scale, 31 + 16 * index
        side = "end" if x > width / 2 else "start"
        parts.append(tag("line", x1=x, x2=x, y1=y + 3, y2=head, class_="mark"))
        parts.append(tag("text", mark.name, x=x, y=y, class_="note", text_anchor=side))
    for number, (name, bad, value) in enumerate(zip(names, failed, column.values, strict=True)):
        y = head + _TALL * number
        parts.append(tag("line", x1=0, x2=width, y1=y, y2=y, class_="rule"))
        parts.append(tag("text", name, x=0, y=y + 16, class_="name failed" if bad else "name"))
        parts.append(_figure(column, value, width, y + 16, first, anchor="end"))
        if value is not None:
            parts.append(_rect(column, value, 0, y + 22, width * value / scale))
        across = [width * mark.value / scale for mark in marks]  # beside the bars alone: names stay legible
        parts += [tag("line", x1=x, x2=x, y1=y + 20, y2=y + _TALL, class_="mark") for x in across]
    return parts, height


def _rows(names: Sequence[str], failed: Sequence[bool]) -> Markup:
    parts = []
    for number, (name, bad) in enumerate(zip(names, failed, strict=True)):
        y = _HEAD + _ROW * number
        parts.append(tag("line", x1=0, x2=WIDE, y1=y, y2=y, class_="rule"))
        parts.append(tag("text", name, x=0, y=_middle(number), class_="name failed" if bad else "name"))
    return tag("g", *parts)


def _weight(column: ChartColumn) -> float:
    """A column with lines to compare with takes more room."""
    return 1.5 if column.marks else 1.0


def _column(column: ChartColumn, x: float, width: float, height: float) -> Markup:
    scale, first = _scale(column), next((value for value in column.values if value), None)
    longest = width - _VALUES
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


def _scale(column: ChartColumn) -> float:
    """The value of the longest bar, or of a line beyond it."""
    present = [value for value in column.values if value is not None]
    return max([*present, *(mark.value for mark in column.marks)], default=0) or 1


def _mark(mark: ReferenceLine, x: float, height: float, *, last: bool) -> list[Markup]:
    """The line with its name at its head: to the left, but for the outermost, which has room to the right."""
    name = tag(
        "text", mark.name, x=x + 4 if last else x - 4, y=31, class_="note", text_anchor="start" if last else "end"
    )
    return [tag("line", x1=x, x2=x, y1=20, y2=height, class_="mark"), name]


def _bar(
    column: ChartColumn, number: int, value: float | None, x: float, length: float, figure_x: float, first: float | None
) -> list[Markup]:
    y = _middle(number)
    if value is None:
        return [_figure(column, value, x, y, first)]
    bar = _rect(column, value, x, y - _BAR / 2 - 4, length)
    return [bar, _figure(column, value, figure_x, y, first)]


def _rect(column: ChartColumn, value: float, x: float, y: float, length: float) -> Markup:
    width_shown = max(length, 1.0) if value else 0.0  # a little is still not nothing
    shape = "bar predicted" if column.predicted else "bar"
    return tag("rect", x=x, y=y, width=width_shown, height=_BAR, rx=1.5, class_=shape)


def _figure(
    column: ChartColumn, value: float | None, x: float, y: float, first: float | None, *, anchor: str = "start"
) -> Markup:
    """The value, and how it compares with the first one."""
    if value is None:
        return tag("text", "–", x=x, y=y, class_="note", text_anchor=anchor)
    figure = tag("tspan", short(value), class_="value")
    ratio = tag("tspan", f" {_ratio(value, first, column.more_is_better)}", class_="ratio")
    return tag("text", figure, ratio, x=x, y=y, text_anchor=anchor)


def _ratio(value: float, first: float | None, more_is_better: bool) -> str:
    if not first or not value or value == first:
        return ""
    if more_is_better:
        return times(value / first)
    return f"÷{times(first / value).rstrip('×')}" if value < first else times(value / first)


def _middle(number: int) -> float:
    return _HEAD + _ROW * number + _ROW / 2 + 4
