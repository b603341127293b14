"""Every verdict that was recorded, in this workbench or in a terminal, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nicegui import ui

from gridstride.course.content import readable_days
from gridstride.course.learner.progress import RunRecord
from gridstride.plain import plain
from gridstride.workbench.pages.frame import OnAsking
from gridstride.workbench.pages.prose import listing
from gridstride.workbench.state import Workbench

_SHOWN = 200


async def build(workbench: Workbench) -> None:
    """The page."""
    runs = await workbench.read(lambda progress: progress.runs())
    files = {day.number: day.lab.file for day in readable_days()[0]}
    ui.html("<h1>History</h1>", sanitize=False)
    if not runs:
        ui.label("No lab has been run yet.")
        return
    ui.label(_counted(runs)).classes("soft")
    with ui.element("div").classes("scroll").props('tabindex="0" role="region" aria-label="Runs"'), \
            ui.element("table").classes("history"):  # fmt: skip
        with ui.element("thead"), ui.element("tr"):
            for name in ("when", "day", "verdict", "found first", "seconds"):
                with ui.element("th").props('scope="col"'):
                    ui.label(name)
        with ui.element("tbody"):
            for run in reversed(runs[-_SHOWN:]):
                _row(run, files.get(run.day, ""))


def _counted(runs: Sequence[RunRecord]) -> str:
    passed = sum(run.passed for run in runs)
    shown = f"; the last {_SHOWN} are shown" if len(runs) > _SHOWN else ""
    return f"{len(runs):,} {'run' if len(runs) == 1 else 'runs'}, {passed:,} passed{shown}"


def _row(run: RunRecord, file: str) -> None:
    with ui.element("tr"):
        with ui.element("td"):
            ui.label(run.at.astimezone().strftime("%Y-%m-%d")).classes("nowrap")
            ui.label(run.at.astimezone().strftime("%H:%M")).classes("soft")
        with ui.element("td"):
            ui.link(str(run.day), f"/day/{run.day}/lab").props(f'aria-label="Lab of day {run.day}"')
        with ui.element("td").classes("nowrap pass" if run.passed else "nowrap fail"):
            ui.label("pass" if run.passed else "not yet")
        with ui.element("td").classes("found"):
            if run.source is not None:
                OnAsking("The source that passed", partial(listing, run.source, file))
            else:
                ui.label(plain(f"{run.finding.replace('_', ' ')}: {run.message}") if run.finding else "")
        with ui.element("td").classes("right"):
            ui.label(f"{run.seconds:.1f}")
