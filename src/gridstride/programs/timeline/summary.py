"""Figures of a timeline: how long it is, how busy streams and engines are, and where nothing runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from gridstride.programs.timeline.model import Timeline
from gridstride.programs.timeline.schedule import Engine, Operation
from gridstride.programs.timeline.totals import Totals

MOST_SHOWN = 5000
"""Operations that a report lists."""
WORKING = tuple(engine for engine in Engine if engine is not Engine.NONE)
Span = tuple[float, float]


def work_of(timeline: Timeline) -> list[Operation]:
    """The operations that take time, by their start."""
    return [
        operation for operation in timeline.schedule.placed if operation.engine is not Engine.NONE or operation.us > 0
    ]


def totals(timeline: Timeline) -> Totals:
    """Of a program that has ended."""
    done = work_of(timeline)
    spans = {engine: busy(done, engine) for engine in WORKING}
    sums = {engine: length(busy_spans) for engine, busy_spans in spans.items()}
    engines = [busy(done, engine, device) for engine in WORKING for device in range(timeline.devices)]
    any_busy = length(union(span for engine in engines for span in engine))
    duration = max((operation.end_us for operation in done), default=0.0) - min(
        (operation.start_us for operation in done), default=0.0
    )
    return Totals(
        duration, sums[Engine.COMPUTE], sums[Engine.TO_DEVICE], sums[Engine.TO_HOST],
        sums[Engine.TO_PEER], overlap(engines), duration - any_busy, timeline.now_us, timeline.waited_us,
        timeline.order.count,
        sum(end - start for start, end in timeline.timed),
        sum(length(between(busy(done, Engine.COMPUTE), *window)) for window in timeline.timed),
        sum(start <= operation.start_us and operation.end_us <= end
            for start, end in timeline.timed for operation in done if operation.kind == "kernel"),
        timeline.managed_allocations,
        len({operation.stream for operation in done if operation.kind == "kernel"}),
    )  # fmt: skip


def busy(operations: Sequence[Operation], engine: Engine, device: int | None = None) -> list[Span]:
    """When an engine has something to do: one GPU's, or any's."""
    return union(
        (operation.start_us, operation.end_us)
        for operation in operations if operation.engine is engine and device in (None, operation.device)
    )  # fmt: skip


def union(spans: Iterable[Span]) -> list[Span]:
    """Without overlaps, by time."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def between(spans: Iterable[Span], first: float, last: float) -> list[Span]:
    """What of them lies between two times."""
    cut = ((max(start, first), min(end, last)) for start, end in spans)
    return [(start, end) for start, end in cut if start < end]


def length(spans: Iterable[Span]) -> float:
    return sum(end - start for start, end in spans)


def overlap(engines: Sequence[Sequence[Span]]) -> float:
    """Time in which two engines or more are busy."""
    steps = sorted((time, step) for spans in engines for start, end in spans for time, step in ((start, 1), (end, -1)))
    total, count, since = 0.0, 0, 0.0
    for time, step in steps:
        total += time - since if count > 1 else 0.0
        count, since = count + step, time
    return total


def bubbles(operations: Sequence[Operation]) -> list[Span]:
    """The stretches between the first operation and the last in which nothing runs, the longest first."""
    spans = union((operation.start_us, operation.end_us) for operation in operations)
    gaps = [(previous[1], following[0]) for previous, following in pairwise(spans)]
    return sorted(gaps, key=lambda gap: gap[0] - gap[1])


def report(timeline: Timeline, *, counted: int, reused: int) -> dict[str, Any]:
    """What `gridstride profile` shows, as JSON has it. Of very many operations the first ones are listed.

    `counted` launches were counted; `reused` ones took the time of an equal launch before them.
    """
    done = work_of(timeline)
    device_of = timeline.devices_of_streams()
    streams = sorted({operation.stream for operation in done})
    return {
        "chip": timeline.chip.key, "gpus": timeline.devices, "modelled": True, **asdict(totals(timeline)),
        "launches_counted": counted, "launches_reused": reused,
        "streams": [
            {"stream": n, "gpu": device_of[n],
             "busy_us": length(union((e.start_us, e.end_us) for e in done if e.stream == n)),
             "operations": sum(e.stream == n for e in done)}
            for n in streams
        ],
        "engines": [
            _engine(done, engine, gpu) for gpu in range(timeline.devices) for engine in WORKING
            if engine is not Engine.TO_PEER or timeline.devices > 1
        ],
        "links": _links(done),
        "bubbles": [{"start_us": start, "end_us": end} for start, end in bubbles(done)[:5]],
        "pairs": [{"first": _row(a), "second": _row(b), "bytes": shared} for a, b, shared in timeline.order.pairs],
        "operation_count": len(done),
        "operations": [_row(operation) for operation in done[:MOST_SHOWN]],
    }  # fmt: skip


def _engine(done: Sequence[Operation], engine: Engine, gpu: int) -> dict[str, Any]:
    own = [operation for operation in done if operation.engine is engine and operation.device == gpu]
    return {
        "engine": str(engine), "gpu": gpu, "busy_us": length(busy(own, engine)), "operations": len(own),
        "bytes": sum(operation.nbytes for operation in own),
    }  # fmt: skip


def _links(done: Sequence[Operation]) -> list[dict[str, Any]]:
    """What went from each GPU to each other, by copies and by kernels that use another GPU's memory."""
    over: dict[tuple[int, int], list[Operation]] = {}
    for operation in done:
        for link in operation.crossing:
            over.setdefault(link, []).append(operation)
    return [
        {"from": link[0], "to": link[1], "operations": len(own),
         "busy_us": length(union((operation.start_us, operation.end_us) for operation in own)),
         "bytes": sum(operation.crossing[link] for operation in own)}
        for link, own in sorted(over.items())
    ]  # fmt: skip


def _row(operation: Operation) -> dict[str, Any]:
    return {
        "kind": operation.kind, "name": operation.name, "stream": operation.stream, "gpu": operation.device,
        "engine": str(operation.engine), "graph": operation.graph, "start_us": round(operation.start_us, 3),
        "end_us": round(operation.end_us, 3), "bytes": operation.nbytes,
    }  # fmt: skip
