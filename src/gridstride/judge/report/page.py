"""Gathers what the page shows and fills the template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gridstride.judge.explain.at_size import timed
from gridstride.judge.explain.explanation import touched
from gridstride.judge.explain.lines import lines
from gridstride.judge.gains import WorkUnit, closing, gains, unit_of
from gridstride.judge.header import KernelFile
from gridstride.judge.report.kernel_page import Pictured, pictures
from gridstride.judge.report.ladder_chart import ChartColumn, ReferenceLine, ladder_chart
from gridstride.judge.report.roofline import Ceiling, Point, roofline
from gridstride.judge.report.source_view import SourceLine, elsewhere, headline, prose, source_lines
from gridstride.judge.report.svg import fitting
from gridstride.judge.report.table import Speed, cells, header
from gridstride.judge.timing.limits import Rates
from gridstride.judge.verdict import Finding, Rejection, RungResult
from gridstride.plain import plain
from gridstride.virtual.observe.figures import percent, short

if TYPE_CHECKING:
    from gridstride.judge.ladder import Ladder

_FOLDER = Path(__file__).parent
_SECTOR = 32  # bytes
_PICTURED = 2  # accesses of a rung that get a picture


@dataclass(frozen=True, slots=True)
class RungView:
    """A rung as the page shows it."""

    result: RungResult
    title: str
    prose: list[tuple[str, str]]
    gain: str
    source: list[SourceLine]
    elsewhere: float
    cells: list[str]
    pictures: list[Pictured]


@dataclass(frozen=True, slots=True)
class WrongView:
    """A kernel that must be rejected, as the page shows it."""

    rejection: Rejection
    title: str
    findings: Sequence[Finding]
    source: list[SourceLine]


def render(ladder: Ladder, *, command: str, date: datetime | None = None) -> str:
    """The page of a ladder that has been climbed. `command` is what was typed, `date` when, by default now."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    files = FileSystemLoader(_FOLDER)
    environment = Environment(
        loader=files, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"short": short, "percent": percent, "words": _words, "sentence": _sentence}
    page = environment.get_template("page.html.j2")
    return plain(page.render(_view(ladder, command, date or datetime.now().astimezone())))


def _view(ladder: Ladder, command: str, date: datetime) -> dict[str, Any]:
    problem, chip = ladder.problem, ladder.device.properties
    unit, speed = unit_of(problem), Speed.on(ladder)
    where = f"the virtual GPU ({chip.name})" if ladder.device.kind == "virtual" else chip.name
    missed = [rejection.kernel for rejection in ladder.rejected if not rejection.match]
    return {
        "problem": problem,
        "where": where,
        "virtual": ladder.device.kind == "virtual",
        "passed": ladder.passed,
        "date": date.strftime("%Y-%m-%d %H:%M %Z").strip(),
        "command": command,
        "closing": closing(
            ladder.results,
            where=where,
            rejected=len(ladder.rejected) - len(missed),
            missed=missed,
            wrong=len(ladder.rejected),
        ),
        "observed": _sizes(problem.observed),
        "timed": _sizes(problem.timed),
        "unit": unit.name,
        "header": header(ladder, unit, speed),
        "chart": _chart(ladder, speed),
        "roofline": _roofline(ladder),
        "rungs": _rungs(ladder, unit, speed),
        "wrong": _wrong(ladder),
        "sampled": _sampled(ladder.results),
    }


def _chart(ladder: Ladder, speed: Speed) -> Markup:
    results = ladder.results
    columns = []
    if any(result.time_ms for result in results):
        columns.append(_measured(results, speed))
    columns += [
        _counted(results, "global_sectors", "global sectors", "32 bytes each"),
        _counted(results, "shared_wavefronts", "shared wavefronts", "passes over the banks"),
        _counted(results, "instructions", "instructions", "of a warp, in PTX"),
    ]
    if len(columns) < 4 and any(result.predicted_ms for result in results):
        values = [result.predicted_ms for result in results]
        columns.append(ChartColumn("time in ms", "predicted", values, predicted=True))
    names, failed = [r.rung for r in results], [r.verdict == "fail" for r in results]
    return fitting(lambda width: ladder_chart(names, failed, columns, width))


def _measured(results: Sequence[RungResult], speed: Speed) -> ChartColumn:
    """Measured speed, with the limit and the peers; a peer's speed is this rung's over the ratio, in the middle one."""
    marks = [ReferenceLine("limit", speed.limit)]
    for name in dict.fromkeys(name for result in results for name in result.peers):
        speeds = sorted(
            own / result.peers[name] for result in results if name in result.peers and (own := speed.of(result.time_ms))
        )
        if speeds:
            marks.append(ReferenceLine(name, speeds[len(speeds) // 2]))
    values = [speed.of(result.time_ms) for result in results]
    return ChartColumn(speed.unit, "measured", values, more_is_better=True, marks=marks)


def _counted(results: Sequence[RungResult], counter: str, name: str, note: str) -> ChartColumn:
    return ChartColumn(name, note, [result.counters.get(counter) for result in results])


def _roofline(ladder: Ladder) -> Markup | None:
    """None where nothing is calculated or nothing was counted."""
    problem, results = ladder.problem, ladder.results
    flops, moved = problem.work(problem.observed)
    points = [point for number, r in enumerate(results, 1) if (point := _point(ladder, r, number, flops))]
    if not points:
        return None
    rates = Rates.of(ladder.device.properties, ladder.problem)
    ceilings = [Ceiling("memory", 1e3 * rates.memory_bytes), Ceiling("L1", 1e3 * rates.sectors * _SECTOR)]
    if l2 := _l2(ladder):
        ceilings.insert(1, Ceiling("L2", l2))
    at_best = flops / moved if moved else None
    return fitting(lambda width: roofline(points, ceilings, 1e3 * rates.flops, at_best, width))


def _point(ladder: Ladder, result: RungResult, number: int, flops: int) -> Point | None:
    ms, predicted = (result.time_ms, False) if result.time_ms else (result.predicted_ms, True)
    sectors = result.counters.get("global_sectors")
    if not (flops and ms and sectors):
        return None
    timed, _ = ladder.problem.work(ladder.problem.timed)
    prefix = result.rung.partition("_")[0]
    label = prefix if prefix.isdigit() else str(number)
    return Point(label, result.rung, flops / (_SECTOR * sectors), timed / (1e-3 * ms), predicted)


def _l2(ladder: Ladder) -> float | None:
    """Bytes per second that the second-level cache gives, where the chip's file has it."""
    from gridstride.virtual.chips import chip, names

    if ladder.device.chip not in names():
        return None
    gpu = chip(ladder.device.chip)
    per_clock = gpu.prediction["l2_read_bytes"]
    return per_clock * gpu.properties.clock_mhz * 1e6 if per_clock else None


def _rungs(ladder: Ladder, unit: WorkUnit, speed: Speed) -> list[RungView]:
    files = {file.name: file for file in ladder.folder.rungs()}
    gain_texts = gains(ladder.results)
    rungs = [
        _rung(ladder, files[result.rung], result, gain_texts.get(result.rung, ""), cells(ladder, result, unit, speed))
        for result in ladder.results
    ]
    # A twin's accesses are Triton's or Numba's to choose: no picture says whose line they are of.
    twins = [_rung(ladder, twin.file, twin.result, "", cells(ladder, twin.result, unit, speed), pictured=False)
             for twin in ladder.twins]  # fmt: skip
    return [*rungs, *twins]


def _rung(
    ladder: Ladder, file: KernelFile, result: RungResult, gain: str, cells: list[str], *, pictured: bool = True
) -> RungView:
    shown = source_lines(file.source, result.run, result.findings, file.filename)
    return RungView(
        result, headline(result.title), prose(file.source), gain, shown, elsewhere(shown, result.run), cells,
        _pictures(ladder, file, result) if pictured else [],
    )  # fmt: skip


def _pictures(ladder: Ladder, file: KernelFile, result: RungResult) -> list[Pictured]:
    """What a warp touches on the heaviest lines; nothing of a rung that was not counted."""
    if result.run is None:
        return []
    subject = ladder.build(file)
    shown = lines(timed(ladder.problem, subject, result.run), file.source, file.filename)
    accesses = touched(ladder.problem, subject, shown, ladder.seed)
    return pictures(accesses, {line.number: line.code.strip() for line in shown})[:_PICTURED]


def _wrong(ladder: Ladder) -> list[WrongView]:
    files = {file.name: file for file in ladder.folder.wrong()}
    views = []
    for rejection in ladder.rejected:
        findings = [rejection.match] if rejection.match else list(rejection.findings)
        source = source_lines(files[rejection.kernel].source, findings=rejection.findings)
        views.append(WrongView(rejection, headline(rejection.title), findings, source))
    return views


def _sampled(results: Sequence[RungResult]) -> str:
    """Which share of the blocks was counted, where it was not all of them."""
    shares = [r.run.counters.sampled for r in results if r.run is not None and not r.run.counters.exact]
    if not shares:
        return ""
    counted, blocks = min(shares, key=lambda pair: pair[0] / pair[1])
    return f"{counted} of {blocks} blocks"


def _sizes(sizes: Any) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def _words(name: str) -> str:
    return name.replace("_", " ")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
