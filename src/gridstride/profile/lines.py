"""Which line of the program a moment belongs to: from samples of a recording, or from a trace made with stacks."""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from gridstride.profile import intervals
from gridstride.profile.intervals import Times
from gridstride.profile.trace import Trace, TraceSpan

_USUAL, _LONGEST = 5_000_000, 50_000_000  # nanoseconds between two samples
_FUNCTION = re.compile(r"^(?P<file>.+\.py)\((?P<line>\d+)\): (?P<name>.+)$")
_LIBRARY = re.compile(r"(^|/)(site-packages|dist-packages|lib/python3[^/]*|torch|<frozen[^/]*)(/|$)|^<")


@dataclass(frozen=True, slots=True)
class LineShare:
    """A place in the program, and its share of the time that was asked about."""

    where: str  # "train.py:31 in train"
    share: float


class Lines:
    """The lines of one recording."""

    def __init__(self, trace: Trace) -> None:
        self._samples = trace.samples
        self._times = [sample.time for sample in trace.samples]
        own = [span for span in trace.functions if (m := _FUNCTION.match(span.name)) and not _LIBRARY.search(m["file"])]
        self._functions = own
        self._starts = [span.start for span in own]

    @property
    def known(self) -> bool:
        """Whether the recording says anything of the program's lines."""
        return bool(self._samples or self._functions)

    def busiest(self, times: Times, most: int = 3) -> list[LineShare]:
        """The lines where the program was most during these times; empty where nothing is known."""
        lines_of = self._sampled(times) if self._samples else self._within(times)
        total = sum(lines_of.values())
        return [LineShare(where, count / total) for where, count in lines_of.most_common(most)]

    def around(self, spans: Iterable[TraceSpan], most: int = 3) -> list[LineShare]:
        """The lines that most of these spans' time was spent at."""
        return self.busiest(intervals.of(spans), most)

    def _sampled(self, times: Times) -> Counter[str]:
        times_by_line: Counter[str] = Counter()
        for start, end in times.tolist():
            first, last = bisect.bisect_left(self._times, start), bisect.bisect_left(self._times, end)
            for at in range(first, last):
                times_by_line[self._samples[at].line] += self._weight(at)
        return times_by_line

    def _weight(self, at: int) -> int:
        """Nanoseconds that a sample stands for: those since the one before, as Python code that never lets go of the
        interpreter's lock is sampled less often than code that waits.
        """
        return min(self._times[at] - self._times[at - 1], _LONGEST) if at else _USUAL

    def _within(self, times: Times) -> Counter[str]:
        """By the innermost of the program's functions; its first line is all that such a trace tells."""
        times_by_line: Counter[str] = Counter()
        for start, end in times.tolist():
            function = self._innermost(start, end)
            if function is not None:
                times_by_line[_readable(function.name)] += end - start
        return times_by_line

    def _innermost(self, start: int, end: int) -> TraceSpan | None:
        at = bisect.bisect_right(self._starts, start)
        for span in reversed(self._functions[max(0, at - 2000) : at]):
            if span.end >= end:
                return span
        return None


def _readable(name: str) -> str:
    match = _FUNCTION.match(name)
    assert match is not None
    return f"{match['file']}:{match['line']} in {match['name']}"
