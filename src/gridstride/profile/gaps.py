"""The times when the GPU idles between two kernels: how many, how long, and what the host did meanwhile."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from gridstride.profile import intervals
from gridstride.profile.account import GPU_BUSY, Account
from gridstride.profile.intervals import Times
from gridstride.profile.trace import Trace, TraceSpan

_WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cuStreamSynchronize",
          "cuCtxSynchronize", "cuEventSynchronize")  # fmt: skip
_EDGES = (5_000, 20_000, 100_000, 1_000_000, 10_000_000)  # nanoseconds: where the classes of the table begin


@dataclass(frozen=True, slots=True)
class Gaps:
    """The idle times of a window, in nanoseconds."""

    times: Times
    median: float
    classes: tuple[tuple[str, int, int], ...]  # (how long, how many, together)
    host: Mapping[str, int]  # what the host did: nanoseconds by the name of the category


def gaps(trace: Trace, account: Account) -> Gaps | None:
    """None without a GPU, or where it never idles."""
    if not trace.on_gpu:
        return None
    busy = intervals.union(*(account.of(key) for key in GPU_BUSY))
    idle = intervals.minus(intervals.between(account.start, account.end), busy)
    if not len(idle):
        return None
    lengths = (idle[:, 1] - idle[:, 0]).tolist()
    host = {
        category.name: intervals.length(times)
        for category, times in account.parts.items()
        if category.key not in GPU_BUSY and len(times)
    }
    return Gaps(idle, statistics.median(lengths), _classes(lengths), host)


def _classes(lengths: list[int]) -> tuple[tuple[str, int, int], ...]:
    edges = (0, *_EDGES, 1 << 62)
    classes = []
    for low, high in pairwise(edges):
        inside = [length for length in lengths if low <= length < high]
        if inside:
            classes.append((_between(low, high), len(inside), sum(inside)))
    return tuple(classes)


def _between(low: int, high: int) -> str:
    if low == 0:
        return f"under {_duration_text(high)}"
    return f"over {_duration_text(low)}" if high == 1 << 62 else f"{_duration_text(low)} to {_duration_text(high)}"


def _duration_text(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:g} ms" if nanoseconds >= 1_000_000 else f"{nanoseconds / 1e3:g} µs"


def waits(trace: Trace) -> list[TraceSpan]:
    """The CUDA calls by which the host waits until the GPU has done everything."""
    return [span for span in trace.calls if span.name.startswith(_WAITS)]


def idle_after(span: TraceSpan, idle: Times) -> int:
    """How long the GPU had nothing to do from the wait's end until the next kernel began."""
    at = idle[(idle[:, 0] <= span.end) & (idle[:, 1] > span.end)]
    return int(at[0, 1] - span.end) if len(at) else 0
