"""How a run shows itself: a short table in a terminal, and as HTML in a notebook."""

from __future__ import annotations

import html as escaping
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gridstride.virtual.observe.figures import aligned, percent, short

_LANES = 32
_WIDEST = 64  # characters of a source line in a terminal
_BUSIEST = 24  # lines of a table before the rest is summed up: what matters is among the first few
_SUMMED = (
    "instructions", "active_lanes", "global_requests", "global_sectors", "shared_wavefronts", "bank_conflicts", "barriers",
)  # fmt: skip
_HEADER = ("line", "source", "instr.", "lanes", "sectors", "per req.", "wavefronts", "conflicts")


class Counts(Protocol):
    """What was counted, of a source line or of a whole run.

    `instructions` are warp instructions, `active_lanes` the lanes that were on, summed over them.
    """

    instructions: Any
    active_lanes: Any
    global_requests: Any
    global_sectors: Any
    shared_wavefronts: Any
    bank_conflicts: Any


class Shown(Protocol):
    """What the functions here need of a run."""

    kernel: Any
    grid: Any
    block: Any
    counters: Any
    findings: Any


@dataclass(frozen=True, slots=True)
class LineRow:
    """One source line with what its instructions did; `share` is its part of all instructions."""

    file: str
    line: int
    source: str
    share: float
    instructions: int
    active_lanes: int
    global_requests: int
    global_sectors: int
    shared_wavefronts: int
    bank_conflicts: int
    barriers: int

    @property
    def lanes(self) -> float:
        """Share of the lanes that were on."""
        return self.active_lanes / (_LANES * self.instructions) if self.instructions else 0.0

    @property
    def sectors_per_request(self) -> float | None:
        """Sectors of 32 bytes for each global access of a warp; None where there is none."""
        return self.global_sectors / self.global_requests if self.global_requests else None


def line_rows(lines: Iterable[Any], source: str | None = None, *, file: str | None = None) -> tuple[LineRow, ...]:
    """One row for each source line that did something, in the order of the source.

    `lines` are line counters; those of one line in several inlined places are one row. `file` leaves out others.
    """
    found: dict[tuple[str, int], dict[str, int]] = defaultdict(lambda: dict.fromkeys(_SUMMED, 0))
    for each in lines:
        sums = found[str(each.file or ""), int(each.line or 0)]
        for name in _SUMMED:
            sums[name] += int(getattr(each, name, 0))
    total = sum(sums["instructions"] for sums in found.values()) or 1
    text = (source or "").splitlines()
    return tuple(
        LineRow(name, line, _line(text, line), sums["instructions"] / total, **sums)
        for (name, line), sums in sorted(found.items())
        if file is None or name == file
    )


def text(run: Shown) -> str:
    """The run as a short table: totals, the lines that did most of it, findings."""
    rows = _rows(run)
    table = aligned(_HEADER, [_cells(row) for row in _busiest(rows)], left=(1,))
    left_out = len(rows) - _BUSIEST
    more = [f"… and {left_out} lines that did less"] if left_out > 0 else []
    return "\n".join([_title(run), _totals(run.counters), "", *table, *more, *_findings(run)])


def html(run: Shown) -> str:
    """The run for a notebook: the same table, each line shaded by its share of the instructions."""
    head = "".join(f"<th style='{_align(column)}'>{name}</th>" for column, name in enumerate(_HEADER))
    body = "".join(_html_row(row) for row in _rows(run))
    findings = "".join(f"<li>{escaping.escape(each)}</li>" for each in _findings(run))
    return (
        f"<div><b>{escaping.escape(_title(run))}</b><br>{escaping.escape(_totals(run.counters))}"
        f"{f'<ul>{findings}</ul>' if findings else ''}"
        "<table style='font-family:ui-monospace,monospace;font-variant-numeric:tabular-nums;border-collapse:collapse'>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _html_row(row: LineRow) -> str:
    # Amber that lets the page through: legible on a light and on a dark one.
    shade = f"background:rgba(230,140,30,{0.5 * row.share**0.5:.3f})"
    cells = [
        f"<td style='{_align(column)};white-space:pre{';' + shade if column == 1 else ''}'>{escaping.escape(cell)}</td>"
        for column, cell in enumerate(_cells(row, widest=None))
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _align(column: int) -> str:
    return f"text-align:{'left' if column == 1 else 'right'};padding:1px 8px"


def _rows(run: Shown) -> tuple[LineRow, ...]:
    return line_rows(run.counters.lines, getattr(run, "source", None))


def _busiest(rows: Sequence[LineRow]) -> list[LineRow]:
    kept = sorted(rows, key=lambda row: -row.instructions)[:_BUSIEST]
    return [row for row in rows if row in kept]


def _cells(row: LineRow, *, widest: int | None = _WIDEST) -> list[str]:
    per_request = row.sectors_per_request
    source = row.source.rstrip() or row.file
    return [
        str(row.line),
        source if widest is None or len(source) <= widest else f"{source[: widest - 1]}…",
        short(row.instructions),
        percent(row.lanes),
        short(row.global_sectors) if row.global_requests else "",
        f"{per_request:.1f}" if per_request is not None else "",
        short(row.shared_wavefronts) if row.shared_wavefronts else "",
        short(row.bank_conflicts) if row.shared_wavefronts else "",
    ]


def _title(run: Shown) -> str:
    name = getattr(run.kernel, "name", run.kernel)
    return f"{name}: grid {_dims(run.grid)}, block {_dims(run.block)}"


def _dims(dims: Sequence[int]) -> str:
    used = max((i for i, each in enumerate(dims) if each > 1), default=0) + 1
    return "×".join(str(each) for each in dims[:used])


def _totals(counters: Counts) -> str:
    requests = counters.global_requests
    per_request = f" ({counters.global_sectors / requests:.1f} per request)" if requests else ""
    parts = [
        f"{short(counters.instructions)} warp instructions",
        f"{short(counters.global_sectors)} global sectors{per_request}",
        f"{short(counters.shared_wavefronts)} shared wavefronts",
        f"{short(counters.bank_conflicts)} bank conflicts",
    ]
    return ", ".join(parts)


def _findings(run: Shown) -> list[str]:
    return [f"! {finding}" for finding in run.findings or ()]


def _line(lines: Sequence[str], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""
