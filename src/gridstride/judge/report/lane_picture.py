"""The way of a warp as a picture: a row for each time that its lanes change, dark where a lane is on."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from gridstride.judge.execution.lane_timeline import TimelineRow, spans
from gridstride.judge.report.svg import WIDE, drawing, tag
from gridstride.virtual.observe.figures import short

_LANES = 32
_HEIGHT, _STEP = 13, 18  # pixels of a row, and from one to the next
_MOST = 24  # rows that are drawn
_LONGEST = 9  # characters of the lines that a row is of, where it is narrow


def lane_picture(rows: Sequence[TimelineRow], width: int = WIDE) -> Markup:
    """From top to bottom in time: the source lines, the lanes that are on, the instructions issued meanwhile."""
    wide = width == WIDE
    left, cell = (200, 26.0) if wide else (84, 6.5)
    right = left + _LANES * cell
    parts = [
        tag("text", "lines", x=left - 12, y=12, text_anchor="end", class_="note"),
        *(tag("text", str(lane), x=left + lane * cell, y=12, class_="note") for lane in range(0, _LANES, 8)),
        tag("text", "instructions" if wide else "instr.", x=width if not wide else right + 110, y=12,
            text_anchor="end", class_="note"),
    ]  # fmt: skip
    for number, row in enumerate(rows[:_MOST]):
        y = 20 + number * _STEP
        parts += [_lane(left + lane * cell, y, cell, on=bool(row.lanes >> lane & 1)) for lane in range(_LANES)]
        named = spans(row.lines)
        short_name = named if wide or len(named) <= _LONGEST else f"{named[: _LONGEST - 1]}…"
        parts.append(tag("text", short_name, x=left - 12, y=y + 11, text_anchor="end", class_="name"))
        count_at = right + 110 if wide else width
        parts.append(tag("text", short(row.instructions), x=count_at, y=y + 11, text_anchor="end", class_="value"))
    height = 20 + min(len(rows), _MOST) * _STEP
    if len(rows) > _MOST:
        more = f"and {len(rows) - _MOST} more rows"
        parts.append(tag("text", more, x=left if wide else 0, y=height + 14, class_="note"))
    return drawing(width, height + (22 if len(rows) > _MOST else 4), _description(rows), *parts)


def _description(rows: Sequence[TimelineRow]) -> str:
    issued = sum(row.instructions for row in rows)
    used = sum(row.instructions * row.lanes.bit_count() for row in rows)
    return f"The way of one warp: {short(issued)} instructions, {used / issued:.1f} of 32 lanes on in the mean"


def _lane(x: float, y: int, cell: float, *, on: bool) -> Markup:
    gap = 1 if cell > 10 else 0.5
    return tag("rect", x=x + gap, y=y, width=cell - 2 * gap, height=_HEIGHT, class_="bar" if on else "slot")
