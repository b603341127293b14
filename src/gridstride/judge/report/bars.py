"""Bars along a scale from nothing to all: shares of speed of light, lanes that are on, warps that are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gridstride.judge.report.svg import WIDE, drawing, tag
from gridstride.virtual.observe.figures import percent

_ROW, _TALL = 26, 40  # pixels of a row that is one line, and of one that is two
_NAME, _VALUE = 300, 290  # pixels left of the bars, and right of them
_BAR = 14
_PERCENT = 52  # pixels for a percentage


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: a name, a share from 0 to 1, what is written behind it; `strong` for the one that matters."""

    name: str
    share: float
    note: str = ""
    strong: bool = False


def bars(what: str, rows: Sequence[Bar], width: int = WIDE) -> Markup:
    """The picture; `what` says in words what it shows. Where it is narrow, names stand above their bars."""
    label = "; ".join(f"{row.name}: {percent(row.share)}{f', {row.note}' if row.note else ''}" for row in rows)
    row_of, height = (_bar, _ROW) if width == WIDE else (_narrow_bar, _TALL)
    parts = [row_of(row, number * height + 4, width) for number, row in enumerate(rows)]
    return drawing(width, height * len(rows) + 6, f"{what}. {label}", *parts)


def slots(what: str, filled: int, of: int, width: int = WIDE) -> Markup:
    """A row of `of` cells of which the first are filled."""
    cell = min(24.0, (width - 2) / of)
    gap = min(2.0, cell / 4)
    cells = [
        tag("rect", x=i * cell + gap / 2, y=4, width=cell - gap, height=20, class_="bar" if i < filled else "slot")
        for i in range(of)
    ]
    return drawing(width, 28, what, *cells)


def _bar(row: Bar, y: int, width: int) -> Markup:
    room = width - _NAME - _VALUE
    return tag(
        "g",
        tag("text", row.name, x=_NAME - 12, y=y + 12, text_anchor="end", class_="name"),
        *_filled(row, _NAME, y, room),
        tag("text", percent(row.share), x=_NAME + room + 54, y=y + 12, text_anchor="end", class_="value"),
        tag("text", row.note, x=_NAME + room + 64, y=y + 12, class_="note"),
    )


def _narrow_bar(row: Bar, y: int, width: int) -> Markup:
    room = width - _PERCENT
    return tag(
        "g",
        tag("text", row.name, x=0, y=y + 12, class_="name"),
        tag("text", row.note, x=width, y=y + 12, text_anchor="end", class_="note"),
        *_filled(row, 0, y + 17, room),
        tag("text", percent(row.share), x=width, y=y + 29, text_anchor="end", class_="value"),
    )


def _filled(row: Bar, x: int, y: int, room: int) -> list[Markup]:
    """All that there could be, pale, and the share of it."""
    length = max(1.0, room * min(1.0, row.share))
    return [
        tag("rect", x=x, y=y, width=room, height=_BAR, class_="slot"),
        tag("rect", x=x, y=y, width=length, height=_BAR, class_="bar" if row.strong else "bar weak"),
    ]
