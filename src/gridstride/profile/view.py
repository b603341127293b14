"""One recording as everything that is said of it needs it."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from gridstride.profile.account import Account, account
from gridstride.profile.gaps import Gaps, gaps
from gridstride.profile.limits import PeakRates, limits
from gridstride.profile.lines import Lines, LineShare
from gridstride.profile.operators import OperatorRow, rows
from gridstride.profile.steps import Steps, steps
from gridstride.profile.trace import Trace, TraceSpan
from gridstride.profile.tree import Tree, tree


@dataclass(frozen=True, slots=True)
class View:
    """A trace with its steps, the account of their time, its operators nested and in a table, its gaps and limits."""

    trace: Trace
    steps: Steps
    account: Account
    tree: Tree
    table: tuple[OperatorRow, ...]
    gaps: Gaps | None
    machine: PeakRates | None
    lines: Lines

    @property
    def wall(self) -> int:
        """Nanoseconds of the window."""
        return self.account.wall

    def inside(self, spans: Iterable[TraceSpan]) -> list[TraceSpan]:
        """Those that begin in the window."""
        return [span for span in spans if self.account.start <= span.start < self.account.end]

    def share(self, nanoseconds: float) -> float:
        """Of the window."""
        return nanoseconds / self.wall if self.wall else 0.0

    def line(self, spans: Iterable[TraceSpan]) -> str | None:
        """The program's line at which most of this time was spent."""
        busiest: list[LineShare] = self.lines.around(spans, 1)
        return busiest[0].where if busiest else None


def view(trace: Trace) -> View:
    """Everything that is to be known of a trace."""
    ranges = steps(trace)
    nested = tree(trace.operators)
    shares = account(trace, ranges.start, ranges.end)
    machine = limits(trace)
    table = tuple(rows(trace, nested, shares, machine))
    return View(trace, ranges, shares, nested, table, gaps(trace, shares), machine, Lines(trace))


def milliseconds(nanoseconds: float) -> str:
    """In three digits, with the unit that suits: 12.3 ms, 4.10 s, 6.2 µs."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(nanoseconds) >= 0.9995 * size:
            value = nanoseconds / size
            return f"{value:.{_decimals(value)}f} {unit}"
    return f"{nanoseconds:.0f} ns"


def _decimals(value: float) -> int:
    return 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2


@functools.cache
def short_path(where: str) -> str:
    """A line's place with the last two parts of its path alone: "src/train.py:31 in train"."""
    path, _, position = where.partition(":")
    return ":".join(["/".join(path.split("/")[-2:]), position]) if position else where
