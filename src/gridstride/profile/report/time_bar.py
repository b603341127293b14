"""The whole of the time as one bar, and each category's part of it as a bar of its own."""

from __future__ import annotations

from markupsafe import Markup

from gridstride.judge.report.svg import drawing, tag
from gridstride.profile.account import Account
from gridstride.profile.report.colours import class_of
from gridstride.profile.view import milliseconds
from gridstride.virtual.observe.figures import percent

_WIDTH, _HEIGHT, _ROW = 1180.0, 34.0, 30.0
_NAME, _BAR, _VALUES = 180.0, 14.0, 560.0  # pixels: names, height of a bar, what is right of the bars
_WIDE_ENOUGH = 46.0  # pixels for a percentage inside


def time_bar(account: Account, steps: int) -> Markup:
    """The picture; `steps` is by how many the times are divided, 0 for not at all."""
    parts = [(category, account.time(category.key)) for category in account.parts if account.time(category.key)]
    description = "; ".join(f"{category.name}: {percent(time / account.wall)}" for category, time in parts)
    x, total, rows = 0.0, [], []
    for number, (category, time) in enumerate(parts):
        share = time / account.wall
        wide = share * _WIDTH
        total.append(tag("rect", x=x, y=0, width=max(0.5, wide - 1), height=_HEIGHT, class_=class_of(category.key)))
        if wide > _WIDE_ENOUGH:
            total.append(tag("text", percent(share), x=x + 8, y=22, class_="inside"))
        x += wide
        duration = milliseconds(time / steps) + " per step" if steps else milliseconds(time)
        rows.append(_row(number, category.name, class_of(category.key), share, f"{duration}: {category.meaning}"))
    return drawing(_WIDTH, _HEIGHT + 22 + _ROW * len(rows), f"Where the time goes. {description}", *total, *rows)


def _row(number: int, name: str, colour: str, share: float, note: str) -> Markup:
    y = _HEIGHT + 22 + number * _ROW
    room = _WIDTH - _NAME - _VALUES
    return tag(
        "g",
        tag("text", name, x=_NAME - 12, y=y + 12, text_anchor="end", class_="name"),
        tag("rect", x=_NAME, y=y, width=room, height=_BAR, class_="slot"),
        tag("rect", x=_NAME, y=y, width=max(1.0, share * room), height=_BAR, class_=colour),
        tag("text", percent(share), x=_NAME + room + 56, y=y + 12, text_anchor="end", class_="value"),
        tag("text", note, x=_NAME + room + 70, y=y + 12, class_="note"),
    )
