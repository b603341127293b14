"""How a climb looks in a terminal: a table of rungs, why each is better, what became of the wrong kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.text import Text

from gridstride.commands.findings import finding_line
from gridstride.judge.gains import Unit, closing, gains, per_request, per_unit, unit_of
from gridstride.judge.limits import Rates, floor_ms
from gridstride.judge.problem import Problem, Sizes
from gridstride.virtual.observe.figures import aligned, percent, short, times

if TYPE_CHECKING:
    from rich.console import Console

    from gridstride.device.protocol import DeviceProperties
    from gridstride.judge.ladder import Ladder
    from gridstride.judge.verdict import Rejection, RungResult

_INDENT = "    "
_VERDICT_COLUMN = 1
_STYLES = {"pass": "green", "FAIL": "bold red"}
Cell = Callable[["RungResult"], str]


def show(console: Console, ladder: Ladder, where: str) -> None:
    """The whole climb."""
    problem = ladder.problem
    console.print(Text.assemble((problem.title, "bold"), f"  on {where}"))
    for table in _tables(ladder):
        console.print()
        for line in table:
            console.print(line)
    if ladder.rejected:
        console.print()
        _show_rejected(console, ladder.rejected)
    missed = [r.kernel for r in ladder.rejected if not r.match]
    caught = len(ladder.rejected) - len(missed)
    said = closing(ladder.results, where=where, rejected=caught, missed=missed, wrong=len(ladder.rejected))
    console.print()
    for line in wrap(said, _width(console)):
        console.print(line, style="bold" if ladder.passed else "bold red")
    for line in _footnotes(ladder):
        console.print(Text(line, style="dim"))


def _tables(ladder: Ladder) -> list[list[Text]]:
    """The times where there are any, then the counters with what each rung gained."""
    results = ladder.results
    notes = gains(results)
    tables = []
    if any(result.time_ms is not None for result in results):
        header, cells = _timed(ladder.problem, ladder.device.properties, results)
        tables.append(_table(header, cells, results, {}))
    header, cells = _counted(unit_of(ladder.problem), results)
    tables.append(_table(header, cells, results, notes))
    return tables


def _timed(
    problem: Problem, chip: DeviceProperties, results: Sequence[RungResult]
) -> tuple[list[str], list[Cell]]:
    """Columns for what was measured on a physical GPU."""
    flops, moved = problem.work(problem.timed)
    rates = Rates.of(chip)
    # What the roofline says the problem is about decides the unit that its speed is given in.
    arithmetic = flops / rates.flops > moved / rates.memory_bytes
    work, unit = (flops / 1e9, "TFLOP/s") if arithmetic else (moved / 1e6, "GB/s")
    peers = list(dict.fromkeys(name for result in results for name in result.peers))
    header = ["rung", "verdict", "ms", "±", unit, *(f"{name} ÷" for name in peers), "of limit"]
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


def _counted(unit: Unit, results: Sequence[RungResult]) -> tuple[list[str], list[Cell]]:
    """Columns for what the virtual GPU counted."""
    header = ["rung", "verdict", "max error", "sectors", "per req.", "wavefronts", "conflicts", f"instr./{unit.name}"]
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
    header: Sequence[str], cells: Sequence[Cell], results: Sequence[RungResult], notes: dict[str, str]
) -> list[Text]:
    rows = [[cell(result) for cell in cells] for result in results]
    head, *lines = aligned(header, rows, left=(0, _VERDICT_COLUMN, len(header) - 1 if header[-1] == "limit" else 0))
    shown = [Text(head, style="dim")]
    for line, result in zip(lines, results, strict=True):
        shown.append(_with_verdict(line, _verdict(result)))
        shown += [Text(f"{_INDENT}{finding_line(finding)}", style="red") for finding in result.findings]
        if notes.get(result.rung):
            shown.append(Text(f"{_INDENT}{notes[result.rung]}", style="dim"))
    return shown


def _with_verdict(line: str, verdict: str) -> Text:
    text = Text(line)
    start = line.index(f" {verdict}") + 1
    text.stylize(_STYLES[verdict], start, start + len(verdict))
    return text


def _show_rejected(console: Console, rejected: Sequence[Rejection]) -> None:
    console.print(Text("kernels that must be rejected", style="dim"))
    width = max(len(each.kernel) for each in rejected)
    for each in rejected:
        found = each.match
        word, style = ("rejected", "green") if found else ("MISSED", "bold red")
        said = finding_line(found) if found else f"expected {each.expected}{_at(each)}, got {_instead(each)}"
        console.print(Text.assemble(f"{each.kernel:{width}}  ", (f"{word:8}", style), "  ", said))


def _at(rejection: Rejection) -> str:
    return f" on line {' or '.join(map(str, sorted(rejection.lines)))}" if rejection.lines else ""


def _instead(rejection: Rejection) -> str:
    return "; ".join(finding_line(finding) for finding in rejection.findings) or "nothing"


def _footnotes(ladder: Ladder) -> list[str]:
    problem = ladder.problem
    notes = [
        f"Counted at {_sizes(problem.observed)}. A sector is 32 bytes; per req.: sectors for one access of a warp, "
        "4 when 32 lanes read neighbouring floats."
    ]
    if ladder.device.kind == "virtual":
        floor = floor_ms(problem.work(problem.timed), Rates.of(ladder.device.properties))
        notes.append(
            f"Times are predicted from the counters, for {_sizes(problem.timed)}; the chip's own limit is {floor:.3g} ms."
        )
    else:
        notes.append(f"Timed at {_sizes(problem.timed)}, L2 cold. A peer's figure above 1 means the rung is faster.")
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
    return max(40, min(console.width, 110))
