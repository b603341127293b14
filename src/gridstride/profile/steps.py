"""The steps of a program's loop, found by what it marks itself: profiler steps, optimizer steps, batches fetched."""

from __future__ import annotations

import bisect
import statistics
from dataclasses import dataclass
from itertools import accumulate, pairwise

from gridstride.profile.trace import Trace, TraceSpan

_FEWEST = 3  # with fewer there is no loop to speak of
LOADING = "enumerate(DataLoader)#"
OPTIMIZER = "Optimizer.step#"


@dataclass(frozen=True, slots=True)
class Steps:
    """Where the steps begin and end: `marks` are nanoseconds, one more than there are steps; `by` says what marks them.

    Without a loop there are no steps, and the window is the whole recording.
    """

    marks: tuple[int, ...]
    by: str
    start: int
    end: int

    @property
    def count(self) -> int:
        """How many."""
        return max(0, len(self.marks) - 1)

    @property
    def durations(self) -> tuple[int, ...]:
        """Of each, in nanoseconds."""
        return tuple(end - start for start, end in pairwise(self.marks))

    @property
    def typical(self) -> int:
        """The number of a step of median length; 0 where there are no steps."""
        lengths = self.durations
        return lengths.index(statistics.median_low(lengths)) if lengths else 0


def steps(trace: Trace) -> Steps:
    """The steps of the trace.

    The first step is left out where only ends are marked: it belongs to the start, as warming up does. A GPU may be
    steps behind the program: there a step is over when the work that was launched until its mark is done.
    """
    profiled = _named(trace, "ProfilerStep#")
    optimized, fetched = _outer(_named(trace, OPTIMIZER)), _outer(_named(trace, LOADING))
    candidates = (
        ("the program's own profiler steps", [span.start for span in profiled] + [s.end for s in profiled[-1:]]),
        ("steps of the optimizer", [span.end for span in optimized]),
        ("batches", [span.start for span in fetched]),
    )
    for by, marks in candidates:
        if len(marks) > _FEWEST:
            marks = _on_device(trace, marks)
            return Steps(tuple(marks), by, marks[0], marks[-1])
    return Steps((), "", trace.start, trace.end)


def _on_device(trace: Trace, marks: list[int]) -> list[int]:
    """When everything was done that had been launched by then."""
    launched = {span.link: span.start for span in trace.calls if span.link is not None}
    work = sorted(
        (launched[span.link], span.end)
        for spans in (trace.kernels, trace.copies)
        for span in spans
        if span.link in launched
    )
    starts = [start for start, _ in work]
    ends = [0, *accumulate((end for _, end in work), max)]
    return [max(mark, ends[bisect.bisect_left(starts, mark)]) for mark in marks]


def _named(trace: Trace, name: str) -> list[TraceSpan]:
    return [span for span in trace.annotations if span.name.startswith(name)]


def _outer(spans: list[TraceSpan]) -> list[TraceSpan]:
    """Without those inside another: an optimizer that wraps one steps once."""
    outer: list[TraceSpan] = []
    for span in spans:
        if not outer or span.start >= outer[-1].end:
            outer.append(span)
    return outer
