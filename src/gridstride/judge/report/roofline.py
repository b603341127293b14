"""The roofline: what the chip allows at each arithmetic intensity, and where the rungs are under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan2, degrees

from markupsafe import Markup

from gridstride.judge.report.svg import WIDE, LogScale, drawing, tag
from gridstride.virtual.observe.figures import short

_HEIGHT, _NARROW_HEIGHT = 460, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 20, 52
_NARROW_LEFT, _NARROW_RIGHT = 46, 10
_DOT = 5
_ACROSS = "FLOP per byte that the warps move"
_LABEL = (20.0, 15.0)  # pixels that a point's label takes at least
_NOTE = 140  # pixels of the note at a line
_LETTER = 7.5  # pixels of a letter of it
# Where a point's label may stand, from its dot, the preferred place first.
_PLACES = ((-14, -12), (17, 0), (-17, 2), (14, 13), (0, 16), (0, -16), (14, -13), (-14, 14), (0, -30), (0, 31))


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A bandwidth in bytes per second."""

    name: str
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Point:
    """A rung: operations per byte, and operations per second, predicted or measured."""

    label: str
    name: str
    intensity: float
    flops_per_s: float
    predicted: bool


@dataclass(frozen=True, slots=True)
class _Axes:
    x: LogScale
    y: LogScale
    wide: bool


def roofline(
    points: Sequence[Point], ceilings: Sequence[Ceiling], peak: float, at_best: float | None, width: int = WIDE
) -> Markup:
    """The picture. `peak` in operations per second; `at_best` the intensity if every byte moved only once."""
    axes = _axes(points, ceilings, peak, at_best, width)
    parts = [_grid(axes), _peak(axes, ceilings, peak), *(_ceiling(axes, ceiling, peak) for ceiling in ceilings)]
    if at_best is not None:
        parts.append(_best(axes, at_best))
    return drawing(width, axes.y.start + _BOTTOM, _description(points), *parts, _points(axes, points))


def _description(points: Sequence[Point]) -> str:
    text = "; ".join(f"{p.name}: {short(p.flops_per_s)}FLOP/s at {short(p.intensity)} per byte" for p in points)
    return f"Roofline. {text}"


def _axes(
    points: Sequence[Point], ceilings: Sequence[Ceiling], peak: float, at_best: float | None, width: int
) -> _Axes:
    left, right, height = (_LEFT, _RIGHT, _HEIGHT) if width == WIDE else (_NARROW_LEFT, _NARROW_RIGHT, _NARROW_HEIGHT)
    across = [point.intensity for point in points] + ([at_best] if at_best else [])
    across += [
        peak / ceiling.bytes_per_s for ceiling in ceilings
    ]  # where each meets the peak: a roof needs its corners
    up = [point.flops_per_s for point in points]
    x = LogScale(min(across) / 3, max(across) * 3, left, width - right)
    y = LogScale(min([*up, peak / 10]) / 5, peak * 2, height - _BOTTOM, _TOP)
    return _Axes(x, y, width == WIDE)


def _grid(axes: _Axes) -> Markup:
    parts = []
    left, right, bottom = axes.x.start, axes.x.end, axes.y.start
    for mark in axes.x.decades() + (axes.x.minors() if axes.wide else []):
        at = axes.x(mark)
        parts.append(tag("line", x1=at, x2=at, y1=_TOP, y2=bottom, class_="rule"))
        parts.append(tag("text", f"{mark:g}", x=at, y=bottom + 18, text_anchor="middle", class_="note"))
    for mark in axes.y.decades():
        at = axes.y(mark)
        parts.append(tag("line", x1=left, x2=right, y1=at, y2=at, class_="rule"))
        label = short(mark).replace(".00", "").replace(".0", "")
        parts.append(tag("text", label, x=left - 8, y=at + 4, text_anchor="end", class_="note"))
    names = [
        tag("text", _ACROSS, x=right, y=bottom + 40, text_anchor="end", class_="head"),
        tag("text", "FLOP/s", x=4 if axes.wide else 0, y=_TOP - 6, class_="head"),
    ]
    return tag("g", *parts, *names)


def _peak(axes: _Axes, ceilings: Sequence[Ceiling], peak: float) -> Markup:
    fastest = max((ceiling.bytes_per_s for ceiling in ceilings), default=peak)
    start = min(max(peak / fastest, axes.x.low), axes.x.high)
    x, y, right = axes.x(start), axes.y(peak), axes.x.end
    # From the corner on; where that leaves no room, up to the edge.
    at, side = (x + 6, "start") if axes.wide else (right, "end")
    return tag(
        "g",
        tag("line", x1=x, x2=right, y1=y, y2=y, class_="ceiling"),
        tag("text", f"arithmetic {short(peak)}FLOP/s", x=at, y=y - 7, text_anchor=side, class_="note"),
    )


def _ceiling(axes: _Axes, ceiling: Ceiling, peak: float) -> Markup:
    """The slanted line from where it enters the picture to the peak, with its name along it."""
    low = max(axes.x.low, axes.y.low / ceiling.bytes_per_s)
    high = min(axes.x.high, peak / ceiling.bytes_per_s)
    if low >= high:
        return Markup("")
    x1, x2 = axes.x(low), axes.x(high)
    y1, y2 = axes.y(low * ceiling.bytes_per_s), axes.y(high * ceiling.bytes_per_s)
    angle = degrees(atan2(y2 - y1, x2 - x1))
    name = f"{ceiling.name} {short(ceiling.bytes_per_s)}B/s"
    # Near its lower end, where the lines are furthest from the points.
    x, y = x1 + 0.06 * (x2 - x1), y1 + 0.06 * (y2 - y1)
    return tag(
        "g",
        tag("line", x1=x1, x2=x2, y1=y1, y2=y2, class_="ceiling"),
        tag("text", name, x=x, y=y - 6, class_="note", transform=f"rotate({angle:.1f} {x:.1f} {y:.1f})"),
    )


def _best(axes: _Axes, at_best: float) -> Markup:
    x = axes.x(at_best)
    side, step = ("end", -6) if x - axes.x.start > _NOTE else ("start", 6)
    return tag(
        "g",
        tag("line", x1=x, x2=x, y1=_TOP, y2=axes.y.start, class_="mark"),
        tag("text", "every byte moved once", x=x + step, y=axes.y.start - 8, text_anchor=side, class_="note"),
    )


def _points(axes: _Axes, points: Sequence[Point]) -> Markup:
    spots = [(axes.x(point.intensity), axes.y(point.flops_per_s)) for point in points]
    boxes = [(x, y, 2.0 * _DOT, 2.0 * _DOT) for x, y in spots]
    dots, labels = [], []
    for point, (x, y) in zip(points, spots, strict=True):
        title = tag("title", f"{point.name}: {short(point.flops_per_s)}FLOP/s{' predicted' if point.predicted else ''}")
        dots.append(tag("circle", title, cx=x, cy=y, r=_DOT, class_="dot predicted" if point.predicted else "dot"))
        width = max(_LABEL[0], _LETTER * len(point.label))
        at = _free(x, y, width, boxes)
        boxes.append((at[0], at[1], width, _LABEL[1]))
        labels.append(tag("text", point.label, x=at[0], y=at[1] + 4, text_anchor="middle", class_="value"))
    return tag("g", *dots, *labels)


def _free(x: float, y: float, wide: float, boxes: Sequence[tuple[float, float, float, float]]) -> tuple[float, float]:
    """The first place for a label where nothing is yet."""
    for dx, dy in _PLACES:
        at = (x + dx, y + dy)
        if not any(
            abs(at[0] - left) < (wide + width) / 2 and abs(at[1] - top) < (_LABEL[1] + height) / 2
            for left, top, width, height in boxes
        ):
            return at
    return (x + _PLACES[0][0], y + _PLACES[0][1])
