"""Bars along a scale from nothing to all: shares of speed of light, lanes that are on, warps that are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gridstride.judge.report.svg import drawing, tag
from gridstride.virtual.observe.figures import percent

_WIDTH, _ROW = 1180, 26
_NAME, _VALUE = 300, 190  # pixels left of the bars, and right of them
_BAR = 14


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: a name, a share from 0 to 1, what is written behind it; `strong` for the one that matters."""

    name: str
    share: float
    note: str = ""
    strong: bool = False


def bars(what: str, rows: Sequence[Bar]) -> Markup:
    """The picture; `what` says in words what it shows."""
    said = "; ".join(f"{row.name}: {percent(row.share)}{f', {row.note}' if row.note else ''}" for row in rows)
    parts = [_bar(row, number) for number, row in enumerate(rows)]
    return drawing(_WIDTH, _ROW * len(rows) + 6, f"{what}. {said}", *parts)


def slots(what: str, filled: int, of: int) -> Markup:
    """A row of `of` cells of which the first are filled."""
    width = min(24.0, (_WIDTH - 2) / of)
    cells = [
        tag("rect", x=i * width + 1, y=4, width=width - 2, height=20, class_="bar" if i < filled else "slot")
        for i in range(of)
    ]
    return drawing(_WIDTH, 28, what, *cells)


def _bar(row: Bar, number: int) -> Markup:
    y, room = number * _ROW + 4, _WIDTH - _NAME - _VALUE
    length = max(1.0, room * min(1.0, row.share))
    return tag(
        "g",
        tag("text", row.name, x=_NAME - 12, y=y + 12, text_anchor="end", class_="name"),
        tag("rect", x=_NAME, y=y, width=room, height=_BAR, class_="slot"),
        tag("rect", x=_NAME, y=y, width=length, height=_BAR, class_="bar" if row.strong else "bar weak"),
        tag("text", percent(row.share), x=_NAME + room + 54, y=y + 12, text_anchor="end", class_="value"),
        tag("text", row.note, x=_NAME + room + 64, y=y + 12, class_="note"),
    )
