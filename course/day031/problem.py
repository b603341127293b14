"""A benchmark of copies: the time of one copy, by size and by the way in which it is given, and where latency ends.

The right answers are the virtual chip's own: a start and a rate for each way, from its table.
"""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size
from gridstride.virtual.chips import chip

NEAR = 0.12
"""By how much a time, or a size, may be off."""
SMALLEST, LARGEST = 1 << 12, 1 << 20
_OF_TIME = chip("h200").timeline
_START = _OF_TIME["copy_us"]
_WAIT = _OF_TIME["call_us"] + _OF_TIME["begin_us"] + _OF_TIME["wake_us"]
STARTS = np.array([_START, _START + _WAIT, _START + _WAIT])
"""Microseconds: queued and waited for from pinned memory, and from pageable."""
RATES = 1000 * np.array([_OF_TIME["link_gb_per_s"], _OF_TIME["link_gb_per_s"], _OF_TIME["pageable_gb_per_s"]])
"""Bytes a microsecond."""


def rising(v: Values) -> dict[str, object]:
    """Sizes from SMALLEST to LARGEST, each larger than the one before, whatever was drawn."""
    steps = 1 + np.abs(np.asarray(v["sizes"], np.int64)) % 7 / 7
    rise = np.cumsum(steps) - steps[0]
    return {"sizes": np.rint(SMALLEST * (LARGEST / SMALLEST) ** (rise / rise[-1])).astype(np.int32)}


def reference(v: Values) -> dict[str, Array]:
    """Start and bytes over rate; and the size at which the two are equal."""
    bytes_of = np.asarray(v["sizes"], np.float64)
    times = STARTS[:, None] + bytes_of / RATES[:, None]
    return {"times": times.astype(np.float32), "half": (STARTS * RATES).astype(np.float32)}


def far(name: str) -> object:
    """Marks what is off by more than NEAR, or no number."""

    def wrong(given: Values, got: Values) -> Array:
        right = reference(given)[name]
        return ~(np.abs(np.asarray(got[name], np.float64) - right) <= NEAR * right)

    return wrong


problem = Problem(
    name="copies",
    title="The time of a copy by its size, and where its latency ends",
    parameters=(
        array("sizes", "int32", "count"),
        array("times", "float32", "3", "count", role="out"),
        array("half", "float32", "3", role="out"),
        size("count"),
    ),
    reference=reference,
    arrange=rising,
    invariants={"times": far("times"), "half": far("half")},
    public=({"count": 6}, {"count": 3}),
    largest={"count": 9},
    observed={"count": 6},
    timed={"count": 6},
    flops="3*count",
    bytes="16*count",
)
