"""How a run shows itself: a short table in a terminal, and as HTML in a notebook."""

from __future__ import annotations

import html as escaping
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gridstride.virtual.observe.figures import aligned, percent, short, times

if TYPE_CHECKING:
    from gridstride.virtual.observe.line_counters import LineCounters
    from gridstride.virtual.observe.run import ObservedRun

_WIDEST = 64  # characters of a source line in a terminal
_BUSIEST = 24  # lines of a table before the rest is left out: what matters is among the first few
_HEADER = ("line", "source", "instr.", "lanes", "sectors", "per req.", "excess", "wavefronts", "conflicts")
_MOST_PARTS = 5  # of a prediction that are shown
_NOTICEABLE = 1.05
_SOURCE = 1  # the column that is text


def text(run: ObservedRun) -> str:
    """The run as a short table: totals, the lines that did most of it, findings."""
    lines = run.counters.lines
    table = aligned(_HEADER, [_cells(run, line) for line in _busiest(lines)], left=(_SOURCE,)) if lines else []
    left_out = len(lines) - _BUSIEST
    more = [f"… and {left_out} lines that did less"] if left_out > 0 else []
    head = [_title(run), _totals(run), _prediction(run), _occupancy(run), *_besides(run)]
    return "\n".join([*head, *_heap(run), *_launched(run), *([""] if table else []), *table, *more, *_findings(run)])


def html(run: ObservedRun) -> str:
    """The run for a notebook: the same table, each line shaded by its share of the instructions."""
    head = "".join(f"<th style='{_align(column)}'>{name}</th>" for column, name in enumerate(_HEADER))
    body = "".join(_html_row(run, line) for line in run.counters.lines)
    findings = "".join(f"<li>{escaping.escape(finding)}</li>" for finding in _findings(run))
    text = "<br>".join(
        map(
            escaping.escape,
            [_totals(run), _prediction(run), _occupancy(run), *_besides(run), *_heap(run), *_launched(run)],
        )
    )
    return (
        f"<div><b>{escaping.escape(_title(run))}</b><br>{text}"
        f"{f'<ul>{findings}</ul>' if findings else ''}"
        "<table style='font-family:ui-monospace,monospace;font-variant-numeric:tabular-nums;border-collapse:collapse'>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _heap(run: ObservedRun) -> list[str]:
    """What the run did to the device heap, where it did anything."""
    use = run.heap
    if use is None or not (use.allocations or use.frees or use.failed):
        return []
    leak = f", {use.leaked} not given back" if use.leaked > 0 else ""
    failed = f", {use.failed} requests found no room" if use.failed else ""
    return [f"device heap: {use.allocations} blocks taken, {use.frees} freed{leak}{failed}"]


def share(line: LineCounters, total: LineCounters) -> float:
    """The part of a run's instructions that one line's are."""
    return line.instructions / total.instructions if total.instructions else 0.0


def _launched(run: ObservedRun) -> list[str]:
    """The grids that the run launched itself, and those below them."""
    below = list(run.descendants())
    if not below:
        return []
    counts = Counter(child.kernel for child in below)
    named = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in counts.most_common(_BUSIEST))
    total = short(sum(child.counters.instructions for child in below))
    return [f"launched {len(below)} grids itself: {named}; {total} warp instructions"]


def excess(line: LineCounters) -> str:
    """How many times the sectors that the same bytes side by side would take; empty where it is not more."""
    dense = line.global_ideal_sectors
    return times(line.global_sectors / dense) if dense and line.global_sectors > _NOTICEABLE * dense else ""


def _html_row(run: ObservedRun, line: LineCounters) -> str:
    # Amber that lets the page through: legible on a light and on a dark one.
    shade = f";background:rgba(230,140,30,{0.5 * share(line, run.counters) ** 0.5:.3f})"
    cells = [
        f"<td style='{_align(column)};white-space:pre{shade if column == _SOURCE else ''}'>{escaping.escape(cell)}</td>"
        for column, cell in enumerate(_cells(run, line, widest=None))
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _align(column: int) -> str:
    return f"text-align:{'left' if column == _SOURCE else 'right'};padding:1px 8px"


def _busiest(lines: Sequence[LineCounters]) -> list[LineCounters]:
    busiest = sorted(range(len(lines)), key=lambda index: -lines[index].instructions)[:_BUSIEST]
    return [lines[index] for index in sorted(busiest)]


def _cells(run: ObservedRun, line: LineCounters, *, widest: int | None = _WIDEST) -> list[str]:
    source = _source_line(run, line)
    reaches, shared = line.global_requests > 0, line.shared_requests > 0
    return [
        str(line.line or ""),
        source if widest is None or len(source) <= widest else f"{source[: widest - 1]}…",
        short(line.instructions),
        percent(line.lane_share),
        short(line.global_sectors) if reaches else "",
        f"{line.sectors_per_request:.1f}" if reaches else "",
        excess(line),
        short(line.shared_wavefronts) if shared else "",
        short(line.bank_conflicts) if shared else "",
    ]


def _source_line(run: ObservedRun, line: LineCounters) -> str:
    """The line's text; the file's name where the text is not at hand."""
    source = run.sources.get(line.file or "")
    lines = (source or run.source or "").splitlines()
    own = source is not None or (not run.sources and line.file == _own_file(run))
    if line.line and line.line <= len(lines) and own:
        return lines[line.line - 1].rstrip()
    return (line.file or "") if line.line else "(what belongs to no line)"


def _own_file(run: ObservedRun) -> str | None:
    """The file that the kernel stands in: the one with most instructions, as `source` is one file's text."""
    sums: dict[str | None, int] = {}
    for line in run.counters.lines:
        sums[line.file] = sums.get(line.file, 0) + line.instructions
    return max(sums, key=lambda file: sums[file], default=None)


def _title(run: ObservedRun) -> str:
    shared = f", {run.shared} bytes shared" if run.shared else ""
    return f"{run.kernel} on virtual {run.chip}: grid {_dims(run.grid)}, block {_dims(run.block)}{shared}"


def _dims(dims: Sequence[int]) -> str:
    used = max((index for index, extent in enumerate(dims) if extent > 1), default=0) + 1
    return "×".join(str(dim) for dim in dims[:used])


def _totals(run: ObservedRun) -> str:
    counters = run.counters
    per_request = f" ({counters.sectors_per_request:.1f} per request)" if counters.global_requests else ""
    parts = [
        f"{short(counters.instructions)} warp instructions",
        f"{short(counters.global_sectors)} global sectors{per_request}",
        f"{short(counters.shared_wavefronts)} shared wavefronts",
        f"{short(counters.bank_conflicts)} bank conflicts",
    ]
    counted, blocks = counters.sampled
    scaled = f"; {counted} of {blocks} blocks counted and scaled up, races looked for among them"
    return ", ".join(parts) + ("" if counters.exact else scaled)


def _prediction(run: ObservedRun) -> str:
    """The limiter first, then what each of the busiest parts would need alone."""
    if run.stopped:
        return "stopped before its end: the counts are of what had run until then, and predict nothing"
    if run.occupancy.refused:
        return "no time is predicted of a launch that hardware refuses"
    predicted = run.predicted
    parts = [
        f"{name} {ms:.3g}" for name, ms in list(predicted.parts.items())[:_MOST_PARTS] if ms >= 0.0005 * predicted.ms
    ]
    return f"limited by {predicted.limiter}: {predicted.ms:.3g} ms predicted ({', '.join(parts)})"


def _occupancy(run: ObservedRun) -> str:
    return str(run.occupancy)


def _besides(run: ObservedRun) -> list[str]:
    """What only some kernels do, in one line."""
    c = run.counters
    sentences = [
        (c.divergent_branches, f"{short(c.divergent_branches)} of {short(c.branches)} branches divergent"),
        (c.atomics, f"{short(c.atomics)} atomics, {short(c.contended_lanes)} of them at an address of another lane"),
        (c.copy_requests, f"{short(c.copy_requests)} asynchronous copies"),
        (c.tma_copies, f"{short(c.tma_copies)} bulk copies of {short(c.tma_bytes)} bytes"),
        (c.tensor_operations, f"{short(c.tensor_operations)} tensor operations ({', '.join(c.tensor_types)})"),
        (c.local_bytes, f"{short(c.local_bytes)} bytes of local memory"),
        (c.constant_requests, f"{short(c.constant_requests)} constant loads"),
        (c.texture_requests, f"{short(c.texture_requests)} texture requests"),
        (c.special_functions, f"{short(c.special_functions)} special functions"),
    ]
    shown = [text for count, text in sentences if count]
    return [", ".join(shown)] if shown else []


def _findings(run: ObservedRun) -> list[str]:
    return [f"! {finding}" for finding in run.findings]
