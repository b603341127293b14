"""A kernel's source as rows: each line with what it did, and marks where something was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.judge.header import KEYS
from gridstride.judge.verdict import Finding
from gridstride.virtual.observe.display import excess, share

if TYPE_CHECKING:
    from gridstride.virtual.observe.line_counters import LineCounters
    from gridstride.virtual.observe.run import ObservedRun

_COMMENT = re.compile(r"//.*$")
_MARKER = re.compile(r"\s*//\s*<-\s*here\s*$")  # for the judge; on the page what was found stands there
_PARAGRAPH = re.compile(r"([A-Z][a-z]+):\s+(.*)", re.DOTALL)
_HEADER_LINE = re.compile(rf"({'|'.join(KEYS)}):")


@dataclass(frozen=True, slots=True)
class LineCounts:
    """What one line did: its share of the instructions, and its counters."""

    share: float
    excess: str  # times the sectors that would do
    line: LineCounters


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line; `heat` from 0 to 1 is its share of the instructions, drawn out so that small shares show."""

    number: int
    code: str
    comment: str
    heat: float
    counts: LineCounts | None
    messages: tuple[str, ...]


def source_lines(
    source: str, run: ObservedRun | None = None, findings: Iterable[Finding] = (), file: str = ""
) -> list[SourceLine]:
    """Every line of the source after its opening comment, which is shown as prose instead."""
    counts = _counts(run, file)
    most = max((row.share for row in counts.values()), default=0.0) or 1.0
    notes: dict[int, list[str]] = {}
    for finding in findings:
        notes.setdefault(finding.line or 0, []).append(finding.kind.replace("_", " "))
    shown = []
    for number, marked in enumerate(source.splitlines(), start=1):
        line = _MARKER.sub("", marked)
        comment = _COMMENT.search(line)
        cut = comment.start() if comment else len(line)
        row = counts.get(number)
        heat = (row.share / most) ** 0.5 if row else 0.0
        shown.append(SourceLine(number, line[:cut], line[cut:], heat, row, tuple(notes.get(number, ()))))
    return shown[_opening(shown) :]


def headline(title: str) -> str:
    """What a header's first line says after its name; empty where it says nothing but how to launch."""
    if _HEADER_LINE.match(title):
        return ""
    name, _, explanation = title.partition(":")
    return explanation.strip() or name


def prose(source: str) -> list[tuple[str, str]]:
    """The header's paragraphs with their names: ("Moves", "…"), ("Mapping", "…"); the launch lines are left out."""
    lines = []
    for line in source.splitlines()[1:]:
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").strip())
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if not line or _PARAGRAPH.match(line) or _HEADER_LINE.match(line):
            paragraphs.append([])
        paragraphs[-1].append(line)
    joined = [" ".join(paragraph).strip() for paragraph in paragraphs]
    return [_named(text) for text in joined if text and not _HEADER_LINE.match(text)]


def elsewhere(source: Sequence[SourceLine], run: ObservedRun | None) -> float:
    """Share of the instructions that came from other files, or from no line at all."""
    own_share = sum(line.counts.share for line in source if line.counts)
    return max(0.0, 1.0 - own_share) if run is not None else 0.0


def _named(text: str) -> tuple[str, str]:
    match = _PARAGRAPH.fullmatch(text)
    return (match[1], match[2]) if match else ("", text)


def _counts(run: ObservedRun | None, file: str) -> dict[int, LineCounts]:
    """By line number, for the lines of the kernel's own file."""
    if run is None:
        return {}
    own = [line for line in run.counters.lines if line.line and Path(line.file or "").name == Path(file).name]
    return {line.line: LineCounts(share(line, run.counters), excess(line), line) for line in own if line.line}


def _opening(lines: Sequence[SourceLine]) -> int:
    """How many lines the opening comment takes, with the empty ones after it."""
    for number, line in enumerate(lines):
        if line.code.strip():
            return number
    return 0
