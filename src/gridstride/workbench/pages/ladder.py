"""A ladder: its rungs with their sources, measured and predicted speed beside each other, and what each gained."""

from __future__ import annotations

import asyncio
import functools
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nicegui import ui

from gridstride.course.content import readable_days
from gridstride.judge.report.source_view import headline
from gridstride.judge.report.source_view import prose as paragraphs
from gridstride.plain import plain
from gridstride.virtual.observe.figures import percent, times
from gridstride.workbench.ladder_record import Recorded, RungTimes, recorded
from gridstride.workbench.pages.frame import OnAsking, not_there
from gridstride.workbench.pages.prose import Listing, prose

_SAME = 1.05  # a ratio nearer to 1 is neither faster nor slower
_AS_FAST = "as fast"


@dataclass(frozen=True, slots=True)
class _Ladder:
    """What the page shows. `rungs` are the kernels' names with their sources; `days` those whose labs climb it."""

    name: str
    title: str
    rungs: tuple[tuple[str, str], ...]
    notes: str
    recorded: Recorded | None
    days: tuple[int, ...]


async def build(name: str) -> None:
    """The page."""
    ladder = await asyncio.to_thread(_read, name)
    if ladder is None:
        not_there(f"There is no ladder {name!r}.", "To the ladders", "/ladders")
        return
    with ui.element("div").classes("soft eyebrow"):
        ui.link("Ladders", "/ladders")
        for number in ladder.days:
            ui.link(f"lab of day {number}", f"/day/{number}/lab")
    ui.html(f"<h1>{ladder.name}</h1>", sanitize=True)
    ui.label(ladder.title)
    _provenance(ladder)
    with ui.element("ol").classes("rungs"):
        below: RungTimes | None = None
        for rung, source in ladder.rungs:
            own = ladder.recorded.rungs.get(rung) if ladder.recorded else None
            _rung(rung, source, own, below, ladder.recorded)
            below = own
    if ladder.notes:
        ui.html("<h2>Notes</h2>", sanitize=False)
        prose(ladder.notes)


@functools.lru_cache(maxsize=64)
def _read(name: str) -> _Ladder | None:
    """From what is installed, which stays as it is while the server runs; None where there is no such ladder."""
    from gridstride.judge.find import find, problem_names

    if name not in problem_names():
        return None
    folder = find(name)
    notes = folder.path / "notes.md"
    climbed = tuple(day.number for day in readable_days()[0] if day.lab.problem == name)
    rungs = tuple((file.name, file.source) for file in folder.rungs())
    return _Ladder(name, folder.problem.title, rungs, _without_title(notes), recorded(name), climbed)


def _without_title(notes: Path) -> str:
    return notes.read_text(encoding="utf-8").partition("\n")[2].strip() if notes.is_file() else ""


def _provenance(ladder: _Ladder) -> None:
    """Which machine the times are of, at which sizes, and how to get them again."""
    recorded, climb = ladder.recorded, f"gridstride climb {ladder.name}"
    if recorded is None:
        ui.label(f"No times of an H200 are recorded. {climb} counts and predicts on this machine.").classes("soft")
        return
    sizes = ", ".join(f"{symbol} = {value:,}" for symbol, value in recorded.sizes.items())
    ui.label(
        f"Measured on an {recorded.gpu} on {recorded.date} at {sizes}; predicted for the same by the virtual GPU. A "
        f"full bar is {recorded.limit_ms:.4g} ms, the least that the chip allows. On this machine: {climb}"
    ).classes("soft ladder-from")


def _rung(name: str, source: str, own: RungTimes | None, below: RungTimes | None, recorded: Recorded | None) -> None:
    with ui.element("li").classes("rung").props(f'id="{name}"'):
        with ui.element("div").classes("said"):
            with ui.element("h2").classes("mono"):
                ui.label(name)
            title = headline(source.partition("\n")[0].removeprefix("//").strip().partition(" ")[2])
            ui.label(title[:1].upper() + title[1:])
        if recorded is not None and own is None:
            ui.label("Not measured yet.").classes("soft")
        elif recorded is not None and own is not None:
            with ui.element("dl").classes("speeds"):
                _bar("H200", own.measured_ms, recorded.limit_ms, "bar-measured")
                if own.predicted_ms:
                    _bar("predicted", own.predicted_ms, recorded.limit_ms, "bar-predicted")
            with ui.element("div").classes("soft small gained"):
                for text in _gained(own, below):
                    ui.label(text)
        OnAsking("Source, and what it changes", partial(_show_source, source))


def _bar(name: str, ms: float, limit_ms: float, shape: str) -> None:
    with ui.element("dt"):
        ui.label(name)
    with ui.element("dd"):
        with ui.element("div").classes("track").props('aria-hidden="true"'):
            ui.element("div").classes(shape).style(f"width: {min(100.0, 100 * limit_ms / ms):.2f}%")
        ui.label(f"{ms:.4g} ms").classes("ms")
        ui.label(percent(limit_ms / ms)).classes("share")


def _gained(own: RungTimes, below: RungTimes | None) -> list[str]:
    """What the rung gained over the one below it, and how it compares with what others have written."""
    sentences = []
    if below is not None:
        model = f"; the model says {_faster(below.predicted_ms / own.predicted_ms)}" \
            if own.predicted_ms and below.predicted_ms else ""  # fmt: skip
        faster = _faster(below.measured_ms / own.measured_ms)
        sentences.append(f"{faster} {'as' if faster == _AS_FAST else 'than'} the rung below{model}".capitalize())
    sentences += [f"{times(ratio)} the speed of {peer}" for peer, ratio in own.peers.items()]
    if own.limiter:
        sentences.append(f"Limited by {own.limiter}, as the virtual GPU counts")
    return sentences


def _faster(ratio: float) -> str:
    if 1 / _SAME < ratio < _SAME:
        return _AS_FAST
    return f"{times(ratio)} faster" if ratio > 1 else f"{times(1 / ratio)} slower"


def _show_source(source: str) -> None:
    for name, text in paragraphs(source):
        ui.label(plain(f"{name}: {text}" if name else text)).classes("small")
    Listing(source, "cuda")
