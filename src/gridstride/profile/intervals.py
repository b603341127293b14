"""Sets of time: sorted, disjoint half-open intervals of nanoseconds, as arrays of shape [n, 2]."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from gridstride.profile.trace import TraceSpan

Times = NDArray[np.int64]  # [n, 2], start before end, each end before the next start or at it
NOTHING: Times = np.empty((0, 2), np.int64)


def of(spans: Iterable[TraceSpan]) -> Times:
    """The time that any of these spans covers."""
    return union(np.array([(span.start, span.end) for span in spans], np.int64).reshape(-1, 2))


def between(start: int, end: int) -> Times:
    """One interval."""
    return np.array([(start, end)], np.int64) if end > start else NOTHING


def union(*sets: Times) -> Times:
    """The time in any of them; the sets given may overlap in themselves."""
    every = np.concatenate([NOTHING, *sets])
    every = every[every[:, 1] > every[:, 0]]
    if len(every) == 0:
        return NOTHING
    every = every[np.argsort(every[:, 0], kind="stable")]
    reach = np.maximum.accumulate(every[:, 1])
    first = np.concatenate([[True], every[1:, 0] > reach[:-1]])
    last = np.concatenate([first[1:], [True]])
    return np.stack([every[first, 0], reach[last]], axis=1)


def minus(first: Times, second: Times) -> Times:
    """The time in the first and not in the second."""
    if len(first) == 0:
        return first
    return common(first, _outside(second, int(first[0, 0]), int(first[-1, 1])))


def common(first_times: Times, second_times: Times) -> Times:
    """The time in both."""
    if len(first_times) == 0 or len(second_times) == 0:
        return NOTHING
    # Each interval of the first meets a run of the second's: those that end after its start and begin before its end.
    first = np.searchsorted(second_times[:, 1], first_times[:, 0], side="right")
    last = np.searchsorted(second_times[:, 0], first_times[:, 1], side="left")
    overlaps = np.maximum(last - first, 0)
    mine = np.repeat(np.arange(len(first_times)), overlaps)
    theirs = (
        np.arange(overlaps.sum()) - np.repeat(np.cumsum(overlaps) - overlaps, overlaps) + np.repeat(first, overlaps)
    )
    start = np.maximum(first_times[mine, 0], second_times[theirs, 0])
    end = np.minimum(first_times[mine, 1], second_times[theirs, 1])
    return np.stack([start, end], axis=1)


def length(times: Times) -> int:
    """Nanoseconds."""
    return int((times[:, 1] - times[:, 0]).sum())


def _outside(times: Times, start: int, end: int) -> Times:
    """What is left of start to end without `times`."""
    edges = np.concatenate([[start], times.ravel(), [end]]).reshape(-1, 2)
    edges = np.clip(edges, start, end)
    gaps: Times = edges[edges[:, 1] > edges[:, 0]]
    return gaps
