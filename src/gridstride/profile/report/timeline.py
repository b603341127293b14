"""One step of the program as a picture: who worked when, the host's threads above, the GPU's streams below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from gridstride.judge.report.svg import drawing, tag
from gridstride.profile import intervals
from gridstride.profile.account import communicates, loading
from gridstride.profile.intervals import Times
from gridstride.profile.report.colours import class_of
from gridstride.profile.steps import OPTIMIZER
from gridstride.profile.trace import TraceSpan
from gridstride.profile.view import View, milliseconds
from gridstride.virtual.observe.figures import percent

_WIDTH, _LEFT, _TOP, _ROW, _BAR = 1180.0, 150.0, 26.0, 30.0, 20.0
_PIXEL = 0.7  # narrower things are drawn together
_LETTER = 6.6  # pixels of a letter, about


@dataclass(frozen=True, slots=True)
class Lane:
    """One row: what is drawn in it, each kind with its colour; later ones lie above earlier ones."""

    name: str
    layers: tuple[tuple[str, Times], ...]
    labels: tuple[tuple[int, int, str], ...] = ()


def timeline(view: View) -> Markup | None:
    """The step of median length; without steps the whole window."""
    start, end = _window(view)
    if end <= start:
        return None
    lanes = [lane for lane in _lanes(view, start, end) if any(len(times) for _, times in lane.layers)]
    scale = _scale(start, end)
    rows = [_row(lane, number, scale) for number, lane in enumerate(lanes)]
    description = "; ".join(f"{lane.name}: busy {percent(_busy(lane) / (end - start))}" for lane in lanes)
    return drawing(_WIDTH, _TOP + _ROW * len(lanes) + 4, f"Timeline of {milliseconds(end - start)}. {description}",
                   _axis(start, end, scale, len(lanes)), *rows)  # fmt: skip


def _window(view: View) -> tuple[int, int]:
    steps = view.steps
    if not steps.count:
        return view.account.start, view.account.end
    return steps.marks[steps.typical], steps.marks[steps.typical + 1]


def _scale(start: int, end: int) -> Callable[[float], float]:
    return lambda at: _LEFT + (at - start) / (end - start) * (_WIDTH - _LEFT)


def _busy(lane: Lane) -> int:
    return intervals.length(intervals.union(*(times for _, times in lane.layers)))


def _lanes(view: View, start: int, end: int) -> Iterable[Lane]:
    within = intervals.between(start, end)

    def cut(spans: Iterable[TraceSpan]) -> Times:
        return intervals.common(intervals.of(spans), within)

    trace = view.trace
    steps = [span for span in trace.annotations if span.name.startswith(OPTIMIZER)]
    yield Lane("program", ((class_of("data_loading"), cut(loading(trace))), (class_of("host"), cut(steps))),
               _labels(((loading(trace), "data"), (steps, "optimizer")), start, end))  # fmt: skip
    threads = {lane: None for spans in (trace.operators, trace.calls) for lane in {span.lane for span in spans}}
    for number, lane in enumerate(sorted(threads, key=lambda lane: _order(lane[1]))):
        operators = cut(span for span in trace.operators if span.lane == lane)
        calls = cut(span for span in trace.calls if span.lane == lane)
        colour = class_of("launch_gaps" if trace.on_gpu else "operators")
        yield Lane("operators" if number == 0 else f"operators, thread {number + 1}",
                   ((colour, operators), (class_of("copies"), calls)))  # fmt: skip
    for stream in sorted({span.lane for span in (*trace.kernels, *trace.copies)}):
        kernels = [span for span in trace.kernels if span.lane == stream]
        yield Lane(f"GPU {stream[0]}, stream {stream[1]}", (
            (class_of("kernels"), cut(span for span in kernels if not communicates(span.name))),
            (class_of("communication"), cut(span for span in kernels if communicates(span.name))),
            (class_of("copies"), cut(span for span in trace.copies if span.lane == stream)),
        ))  # fmt: skip


def _order(thread: str) -> tuple[int, str]:
    """Numbers as numbers: the main thread has the lowest."""
    return (int(thread), "") if thread.isdigit() else (1 << 62, thread)


def _labels(kinds: Sequence[tuple[list[TraceSpan], str]], start: int, end: int) -> tuple[tuple[int, int, str], ...]:
    labels = ((max(span.start, start), min(span.end, end), name) for spans, name in kinds for span in spans)
    return tuple((low, high, name) for low, high, name in labels if low < high)


def _row(lane: Lane, number: int, scale: Callable[[float], float]) -> Markup:
    y = _TOP + number * _ROW
    parts = [tag("text", lane.name, x=_LEFT - 12, y=y + 14, text_anchor="end", class_="name")]
    parts.append(tag("rect", x=_LEFT, y=y, width=_WIDTH - _LEFT, height=_BAR, class_="slot"))
    for colour, times in lane.layers:
        parts.append(_bars(times, scale, y, colour))
    for start, end, name in lane.labels:
        if scale(end) - scale(start) > _LETTER * len(name) + 8:
            parts.append(tag("text", name, x=scale(start) + 5, y=y + 14, class_="inside"))
    return tag("g", *parts)


def _bars(times: Times, scale: Callable[[float], float], y: float, colour: str) -> Markup:
    """One path for all of them: thousands of elements would make a slow page."""
    if not len(times):
        return Markup("")
    path = "".join(
        f"M{left:.1f} {y:g}h{max(_PIXEL, right - left):.1f}v{_BAR:g}h-{max(_PIXEL, right - left):.1f}z"
        for left, right in _merged(times, scale)
    )
    return tag("path", d=path, class_=colour)


def _merged(times: Times, scale: Callable[[float], float]) -> list[tuple[float, float]]:
    """Intervals in pixels, those closer together than can be seen as one."""
    edges = np.array([[scale(start), scale(end)] for start, end in times.tolist()])
    first = np.concatenate([[True], edges[1:, 0] - np.maximum.accumulate(edges[:, 1])[:-1] > _PIXEL / 2])
    last = np.concatenate([first[1:], [True]])
    return [(float(low), float(high)) for low, high in zip(edges[first, 0], edges[last, 1], strict=True)]


def _axis(start: int, end: int, scale: Callable[[float], float], rows: int) -> Markup:
    span = end - start
    step = next(unit * digit for unit in (10**power for power in range(1, 16)) for digit in (1, 2, 5)
                if unit * digit * 8 >= span)  # fmt: skip
    parts = []
    for at in range(0, span + 1, step):
        x = scale(start + at)
        parts.append(tag("line", x1=x, x2=x, y1=_TOP - 6, y2=_TOP + rows * _ROW, class_="rule"))
        anchor = "end" if x > _WIDTH - 30 else "middle"
        parts.append(tag("text", _tick(at), x=x, y=_TOP - 11, text_anchor=anchor, class_="note"))
    return tag("g", *parts)


def _tick(nanoseconds: int) -> str:
    """Exactly: 0, 250 µs, 1.5 ms."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("µs", 10**3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:g} {unit}"
    return f"{nanoseconds} ns" if nanoseconds else "0"
