"""How a climb looks in a terminal: a table of rungs, why each is better, what became of the wrong kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.text import Text

from gridstride.commands.text.findings import finding_line
from gridstride.judge.gains import WorkUnit, closing, gains, per_request, per_unit, unit_of
from gridstride.judge.problem import Problem, Sizes
from gridstride.judge.timing.limits import Rates, floor_ms
from gridstride.virtual.observe.figures import aligned, percent, short, times

if TYPE_CHECKING:
    from rich.console import Console

    from gridstride.judge.ladder import Ladder
    from gridstride.judge.verdict import Rejection, RungResult
    from gridstride.protocol import DeviceProperties

_INDENT = "    "
_FLUSH_LEFT = ("rung", "verdict", "limit")
_SPARE = ("error", "conflicts", "limit", "±")  # columns that go first where there is little room
_WIDEST = 120  # columns of running text: longer lines are hard to read
_STYLES = {"pass": "green", "FAIL": "bold red"}
Cell = Callable[["RungResult"], str]


def show(console: Console, ladder: Ladder, where: str) -> None:
    """The whole climb."""
    problem = ladder.problem
    console.print(Text.assemble((problem.title, "bold"), f"  on {where}"))
    for table in _tables(ladder, _width(console)):
        console.print()
        for row in table:
            console.print(row)
    if ladder.rejected:
        console.print()
        _show_rejected(console, ladder.rejected)
    missed = [r.kernel for r in ladder.rejected if not r.match]
    caught = len(ladder.rejected) - len(missed)
    summary = closing(ladder.results, where=where, rejected=caught, missed=missed, wrong=len(ladder.rejected))
    console.print()
    for line in wrap(summary, _width(console)):
        console.print(Text(line, style="bold" if ladder.passed else "bold red"))
    for note in _footnotes(ladder):
        for line in wrap(note, _width(console)):
            console.print(Text(line, style="dim"))


def _tables(ladder: Ladder, width: int) -> list[list[Text]]:
    """The times where there are any, then the counters with what each rung gained; other languages behind the rungs."""
    results = [*ladder.results, *(twin.result for twin in ladder.twins)]
    notes = gains(ladder.results)
    tables = []
    if any(result.time_ms is not None for result in results):
        header, cells = _timed(ladder.problem, ladder.device.properties, results)
        tables.append(_table(header, cells, results, None, width))
    header, cells = _counted(unit_of(ladder.problem), results)
    tables.append(_table(header, cells, results, notes, width))
    return tables


def _timed(problem: Problem, chip: DeviceProperties, results: Sequence[RungResult]) -> tuple[list[str], list[Cell]]:
    """Columns for what was measured on a physical GPU."""
    flops, moved = problem.work(problem.timed)
    rates = Rates.of(chip, problem)
    # What the roofline says the problem is about decides the unit that its speed is given in.
    arithmetic = flops / rates.flops > moved / rates.memory_bytes
    work, unit = (flops / 1e9, "TFLOP/s") if arithmetic else (moved / 1e6, "GB/s")
    peers = list(dict.fromkeys(name for result in results for name in result.peers))
    header = ["rung", "verdict", "ms", "±", unit, *(f"vs {name}" for name in peers), "of limit"]
    cells: list[Cell] = [
        lambda r: r.rung,
        _verdict,
        lambda r: _number(r.time_ms, ".4g"),
        lambda r: _number(r.spread_ms, ".2g"),
        lambda r: f"{work / r.time_ms:.1f}" if r.time_ms else "–",
        *(_peer(name) for name in peers),
        lambda r: percent(r.speed_of_light) if r.speed_of_light is not None else "–",
    ]
    return header, cells


def _counted(unit: WorkUnit, results: Sequence[RungResult]) -> tuple[list[str], list[Cell]]:
    """Columns for what the virtual GPU counted."""
    header = ["rung", "verdict", "error", "sectors", "per req.", "wavefr.", "conflicts", "instr./op"]
    cells: list[Cell] = [
        lambda r: r.rung,
        _verdict,
        lambda r: _number(r.max_error, ".1e"),
        lambda r: _count(r, "global_sectors"),
        lambda r: _number(per_request(r.counters), ".1f"),
        lambda r: _count(r, "shared_wavefronts"),
        lambda r: _count(r, "bank_conflicts"),
        lambda r: f"{per_unit(r.counters, unit):.3g}" if r.counters else "–",
    ]
    if any(result.predicted_ms is not None for result in results):
        header += ["predicted ms", "limit"]
        cells += [lambda r: _number(r.predicted_ms, ".3g"), lambda r: r.limiter or "–"]
    return header, cells


def _table(
    header: Sequence[str],
    cells: Sequence[Cell],
    results: Sequence[RungResult],
    notes: dict[str, str] | None,
    width: int,
) -> list[Text]:
    rows = [[cell(result) for cell in cells] for result in results]
    head, *lines = _fitted(header, rows, width)
    shown = [Text(head, style="dim")]
    for line, result in zip(lines, results, strict=True):
        shown.append(_with_verdict(line, _verdict(result)))
        for finding in result.findings if notes is not None else ():
            shown += _below(finding_line(finding), width, "red")
        shown += _below((notes or {}).get(result.rung, ""), width, "dim")
    return shown


def _fitted(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The table without those columns that a narrow terminal has no room for."""
    columns = list(range(len(header)))
    for spare in ("", *_SPARE):
        columns = [column for column in columns if header[column] != spare]
        names = [header[column] for column in columns]
        flush_left = [number for number, name in enumerate(names) if name in _FLUSH_LEFT]
        lines = aligned(names, [[row[column] for column in columns] for row in rows], left=flush_left)
        if max(map(len, lines)) <= width:
            break
    return lines


def _below(text: str, width: int, style: str) -> list[Text]:
    """Text under a row, broken to the width."""
    return [Text(line, style=style) for line in wrap(text, width, initial_indent=_INDENT, subsequent_indent=_INDENT)]


def _with_verdict(line: str, verdict: str) -> Text:
    text = Text(line)
    start = line.index(f" {verdict}") + 1
    text.stylize(_STYLES[verdict], start, start + len(verdict))
    return text


def _show_rejected(console: Console, rejected: Sequence[Rejection]) -> None:
    console.print(Text("kernels that must be rejected", style="dim"))
    longest = max(len(rejection.kernel) for rejection in rejected)
    for rejection in rejected:
        match = rejection.match
        word, style = ("rejected", "green") if match else ("MISSED", "bold red")
        console.print(Text.assemble(f"{rejection.kernel:{longest}}  ", (word, style)))
        result = (
            finding_line(match)
            if match
            else f"expected {rejection.expected}{_at(rejection)}, got {_instead(rejection)}"
        )
        for row in _below(result, _width(console), "dim" if match else "red"):
            console.print(row)


def _at(rejection: Rejection) -> str:
    return f" on line {' or '.join(map(str, sorted(rejection.lines)))}" if rejection.lines else ""


def _instead(rejection: Rejection) -> str:
    return "; ".join(finding_line(finding) for finding in rejection.findings) or "nothing"


def _sampled(ladder: Ladder) -> str:
    """Says so where some rung's counts come from a part of its blocks."""
    counted = [r.run.counters.sampled for r in ladder.results if r.run is not None]
    part = [c for c in counted if c[0] < c[1]]
    return f", on every few blocks of the larger grids ({part[0][0]} of {part[0][1]}) and scaled up" if part else ""


def _footnotes(ladder: Ladder) -> list[str]:
    problem = ladder.problem
    notes = [
        f"Counted at {_sizes(problem.observed)}{_sampled(ladder)}. A sector is 32 bytes; per req.: sectors for one "
        f"access of a warp, 4 when 32 lanes read neighbouring floats; op: one {unit_of(problem).name} of a lane."
    ]
    if ladder.device.kind == "virtual":
        floor = floor_ms(problem.work(problem.timed), Rates.of(ladder.device.properties, problem))
        notes.append(
            f"Times are predicted from the counters, for {_sizes(problem.timed)}, where the chip's own limit is "
            f"{floor:.3g} ms."
        )
    else:
        notes.append(
            f"Timed at {_sizes(problem.timed)}, L2 cold. A figure above 1× means that the rung is faster than the peer."
        )
    for file in ladder.left_out:
        needed = ".".join(map(str, file.needs or ()))
        notes.append(f"{file.name} is left out: it needs compute capability {needed}.")
    return notes


def _verdict(result: RungResult) -> str:
    return "pass" if result.verdict == "pass" else "FAIL"


def _peer(name: str) -> Cell:
    return lambda result: times(result.peers[name]) if name in result.peers else "–"


def _count(result: RungResult, counter: str) -> str:
    return short(result.counters[counter]) if counter in result.counters else "–"


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else "0" if value == 0 else f"{value:{form}}"


def _sizes(sizes: Sizes) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def _width(console: Console) -> int:
    return max(60, min(console.width, _WIDEST))
