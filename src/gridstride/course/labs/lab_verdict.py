"""What a lab says of a learner's file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

_MORE_TIME = re.compile(r" \(VirtualGPU\(time_limit=…\) or GRIDSTRIDE_TIME_LIMIT gives (?:it|them) longer\)")


def with_line(message: str, text: str, line: int | None) -> tuple[str, ...]:
    """What a terminal shows of a finding: what is said, and its source line where the text has it."""
    lines = text.splitlines()
    return (message, f"{line:>6} | {lines[line - 1].rstrip()}") if line and line <= len(lines) else (message,)


def without_more_time(message: str) -> str:
    """A timeout's message without how to get more time, which a lab does not give."""
    return _MORE_TIME.sub("", message)


@dataclass(frozen=True, slots=True)
class LabFinding:
    """One thing that is wrong. `kind` is a judge's, or one of `table_lab.KINDS` or `program_findings.KINDS`; `where` is
    a cell of a table, the figure of a bound, or how the wrong elements of a result lie.
    """

    kind: str
    message: str
    line: int | None = None
    where: str = ""
    shown: tuple[str, ...] = ()
    """The finding as a terminal shows it, with its source line."""

    def json(self) -> dict[str, Any]:
        """For `--json`."""
        words = {"kind": self.kind, "line": self.line, "where": self.where, "message": self.message}
        return words | {"shown": list(self.shown)}


def with_words(finding: LabFinding, more: str) -> LabFinding:
    """The finding with more to its message."""
    message = f"{finding.message}; {more}"
    shown = tuple(line.replace(finding.message, message, 1) for line in finding.shown)
    return replace(finding, message=message, shown=shown)


@dataclass(frozen=True, slots=True)
class LabVerdict:
    """`measured` are the figures that the lab's runs gave, by name; empty where it did not pass. `source` is the text
    that was judged, `chip` the virtual GPU that ran it; both are empty where nothing was run.
    """

    day: int
    findings: tuple[LabFinding, ...]
    seconds: float
    measured: Mapping[str, float] = field(default_factory=dict)
    cases: int = 0
    source: str = ""
    chip: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "day": self.day,
            "verdict": "pass" if self.passed else "fail",
            "findings": [finding.json() for finding in self.findings],
            "measured": dict(self.measured),
            "cases": self.cases,
            "seconds": round(self.seconds, 3),
        }
