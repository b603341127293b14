"""The page of one kernel that was explained: verdict, what limits it, its source with heat, and the pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gridstride.judge.execution.access_map import WarpAccess
from gridstride.judge.execution.lane_timeline import rows
from gridstride.judge.report.access_picture import access_summary, picture
from gridstride.judge.report.bars import Bar, bars, slots
from gridstride.judge.report.ladder_chart import ChartColumn, ladder_chart
from gridstride.judge.report.lane_picture import lane_picture
from gridstride.judge.report.roofline import Ceiling, Point, roofline
from gridstride.judge.report.source_view import SourceLine, headline, source_lines
from gridstride.judge.report.svg import fitting
from gridstride.plain import plain
from gridstride.virtual.observe.figures import percent, short, times

if TYPE_CHECKING:
    from jinja2 import Environment

    from gridstride.judge.explain.advice import Advice
    from gridstride.judge.explain.explanation import KernelExplanation, KernelProfile
    from gridstride.judge.explain.lines import LineProfile

_FOLDER = Path(__file__).parent
_PICTURED = 4  # accesses that get a picture
LEAST_SHARE = 0.005
"""Of the time: a part of the chip that is busy for less gets no bar."""
_YOURS = "this kernel"


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source line as the page shows it; `line` is None where it did nothing, `sampled` what ncu measured of it."""

    number: int
    code: str
    comment: str
    heat: float
    messages: tuple[str, ...]
    line: LineProfile | None
    sampled: float | None


@dataclass(frozen=True, slots=True)
class Pictured:
    """One access with its picture and the same in words."""

    access: WarpAccess
    code: str
    summary: str
    picture: Markup


def render(explanation: KernelExplanation, *, command: str, date: datetime | None = None) -> str:
    """The page. `command` is what was typed, `date` when, by default now."""
    page = templates().get_template("kernel.html.j2")
    return plain(page.render(_view(explanation, command, date or datetime.now().astimezone())))


def templates() -> Environment:
    """The pages about kernels."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"short": short, "percent": percent, "times": times, "sentence": _sentence,
                            "words": lambda name: name.replace("_", " ")}  # fmt: skip
    return environment


def _view(explanation: KernelExplanation, command: str, date: datetime) -> dict[str, Any]:
    problem, profile, file = explanation.folder.problem, explanation.profile, explanation.file
    chip = explanation.device.properties
    view: dict[str, Any] = {
        "file": file.name,
        "problem": problem,
        "title": headline(file.title),
        "result": explanation.result,
        "where": f"the virtual GPU ({chip.name})" if explanation.device.kind == "virtual" else chip.name,
        "observed": _sizes(problem.observed),
        "timed": _sizes(problem.timed),
        "date": date.strftime("%Y-%m-%d %H:%M %Z").strip(),
        "command": command,
        "profile": profile,
        "measured": explanation.measured,
        "rows": _rows(explanation),
    }
    return view | (_figures(explanation, profile) if profile else {})


def _figures(explanation: KernelExplanation, profile: KernelProfile) -> dict[str, Any]:
    return launch_figures(profile, explanation.file.name) | {
        "busy": _busy(explanation),
        "advice": [(advice, where(advice)) for advice in profile.advice],
        "chart": _chart(profile) if profile.rungs else None,
        "beside": _beside(explanation, profile),
    }


def launch_figures(profile: KernelProfile, name: str) -> dict[str, Any]:
    """What the sections on one launch show, of any kernel; headings are of level 2."""
    o, properties = profile.occupancy, profile.at.chip.properties
    most = properties.max_threads_per_multiprocessor // properties.warp_size
    return {
        "level": 2,
        "limits": _limits(profile),
        "roofline": _roofline(profile, name),
        "occupancy": fitting(
            lambda width: slots(f"{o.warps} of {most} warps of a multiprocessor are there", o.warps, most, width)
        ),
        "pictures": _pictures(profile),
        "divergence": _divergence(profile),
        "way": fitting(lambda width: lane_picture(rows(profile.way), width)) if profile.way else None,
    }


def where(advice: Advice) -> str:
    """The lines that a piece of advice is about."""
    if advice.line is None:
        return "the launch"
    return f"line {advice.line}" + (f" (and {', '.join(map(str, advice.also))})" if advice.also else "")


def _rows(explanation: KernelExplanation) -> list[SourceRow]:
    file, profile = explanation.file, explanation.profile
    sampled = explanation.measured.lines if explanation.measured else {}
    shown = source_lines(file.source, None, explanation.result.findings)
    return heated(shown, profile.lines if profile else (), sampled)


def heated(
    shown: Sequence[SourceLine], profiles: Sequence[LineProfile], sampled: Mapping[int, Mapping[str, Any]]
) -> list[SourceRow]:
    """Source lines with what they did, shaded by their share of the time; `sampled` is what ncu says of lines."""
    by_number = {line.number: line for line in profiles}
    most = max((line.share for line in profiles), default=0.0) or 1.0
    rows = []
    for row in shown:
        line = by_number.get(row.number)
        heat = (line.share / most) ** 0.5 if line else 0.0
        share = sampled[row.number].get("sample_share") if row.number in sampled else None
        rows.append(SourceRow(row.number, row.code, row.comment, heat, row.messages, line, share))
    return rows


def _limits(profile: KernelProfile) -> Markup:
    rows = [
        Bar(resource.name, resource.share, f"{resource.ms:.3g} ms alone", strong=resource.name == profile.limiter)
        for resource in profile.resources
        if resource.share > LEAST_SHARE
    ]
    return fitting(lambda width: bars("Share of speed of light of each part of the chip", rows, width))


def _busy(explanation: KernelExplanation) -> Markup | None:
    measured = explanation.measured
    if measured is None or not measured.shares:
        return None
    busiest = sorted(measured.shares.items(), key=lambda row: -row[1])
    rows = [Bar(name, share, strong=name == measured.limiter) for name, share in busiest if share > LEAST_SHARE]
    return fitting(lambda width: bars("Busy share of each unit, measured by Nsight Compute", rows, width))


def _roofline(profile: KernelProfile, name: str) -> Markup | None:
    r = profile.rooflines
    if not r.flops or not r.levels:
        return None
    points = [Point(level.name, f"{name}, {level.name}", level.intensity, r.flops_per_s, not profile.measured)
              for level in r.levels]  # fmt: skip
    ceilings = [Ceiling(level.name, level.bytes_per_s) for level in r.levels]
    return fitting(lambda width: roofline(points, ceilings, r.peak, None, width))


def _pictures(profile: KernelProfile) -> list[Pictured]:
    """The accesses that matter most: of the heaviest lines, one of each way and space."""
    return pictures(profile.accesses, {line.number: line.code.strip() for line in profile.lines})


def pictures(accesses: Sequence[WarpAccess], code: Mapping[int, str]) -> list[Pictured]:
    """Pictures of the accesses that matter most, of which the heaviest lines come first; `code` by line number."""
    first = {(a.line, a.space, a.writes, a.array, a.bytes): a for a in reversed(accesses)}
    order = {line: number for number, line in enumerate(dict.fromkeys(a.line for a in accesses))}
    chosen = sorted(first.values(), key=lambda a: (order[a.line], -_waste(a)))[:_PICTURED]
    return [Pictured(a, code.get(a.line, ""), access_summary(a), both(a)) for a in chosen]


def both(access: WarpAccess) -> Markup:
    """The picture of an access for a page of either width."""
    return fitting(lambda width: picture(access, width))


def _waste(access: WarpAccess) -> int:
    return access.passes if access.space == "shared" else len(access.sectors)


def _divergence(profile: KernelProfile) -> Markup | None:
    rows = [
        Bar(f"line {line.number}", line.counters.lane_share,
            f"{short(line.counters.divergent_branches)} of {short(line.counters.branches)} branches split"
            if line.counters.divergent_branches else "", strong=bool(line.counters.divergent_branches))
        for line in profile.lines
        if line.counters.divergent_branches or line.counters.lane_share < 0.995
    ]  # fmt: skip
    return fitting(lambda width: bars("Share of the lanes that are on, by line", rows, width)) if rows else None


def _chart(profile: KernelProfile) -> Markup:
    own = profile.run.counters.as_dict()
    names = [_YOURS, *(rung.name for rung in profile.rungs)]

    def counted(name: str, shown: str, note: str) -> ChartColumn:
        return ChartColumn(shown, note, [float(own[name]), *(float(rung.counters[name]) for rung in profile.rungs)])

    columns = [
        counted("global_sectors", "global sectors", "32 bytes each"),
        counted("shared_wavefronts", "shared wavefronts", "passes over the banks"),
        counted("instructions", "instructions", "of a warp, in PTX"),
        ChartColumn("time in ms", "predicted", [profile.predicted.ms, *(rung.predicted_ms for rung in profile.rungs)],
               predicted=True),
    ]  # fmt: skip
    return fitting(lambda width: ladder_chart(names, [False] * len(names), columns, width))


def _beside(explanation: KernelExplanation, profile: KernelProfile) -> Sequence[tuple[str, str, str]]:
    """(what, measured by Nsight Compute, counted on the virtual GPU)."""
    measured, counted = explanation.measured, profile.run.counters
    if measured is None:
        return []
    return [
        (name.replace("_", " "), short(count), short(getattr(counted, name)) if hasattr(counted, name) else "–")
        for name, count in measured.counts.items()
        if count
    ]


def _sizes(sizes: Any) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
