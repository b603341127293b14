"""The ladders there are: how many rungs each has, and how near to the limit its best one came on an H200."""

from __future__ import annotations

import asyncio
import functools
from dataclasses import dataclass

from nicegui import ui

from gridstride.virtual.observe.figures import percent
from gridstride.workbench.ladder_record import recorded


@dataclass(frozen=True, slots=True)
class LadderRow:
    """A ladder of the list. `share` is the best rung's of the limit; None where none was measured."""

    name: str
    title: str
    rungs: int
    share: float | None


async def build() -> None:
    """The page."""
    rows = await asyncio.to_thread(ladder_rows)
    ui.html("<h1>Ladders</h1>", sanitize=False)
    ui.label(
        "Each operation from its first kernel to its best one, rung by rung: with the sources, and with what an H200 "
        "took beside what the virtual GPU predicts for it."
    ).classes("prose")
    with ui.element("ul").classes("days"):
        for row in rows:
            with ui.element("li").classes("ladder-row"):
                with ui.element("div"):
                    ui.link(row.name, f"/ladder/{row.name}").classes("title mono")
                    ui.label(row.title).classes("soft small")
                best = f", the best at {percent(row.share)} of the limit" if row.share else ", not measured yet"
                ui.label(f"{row.rungs} rungs{best}").classes("state")


@functools.cache
def ladder_rows() -> list[LadderRow]:
    """Of what is installed, which stays as it is while the server runs; takes 0.3 s the first time."""
    from gridstride.judge.find import find, problem_names

    rows = []
    for name in problem_names():
        folder, times = find(name), recorded(name)
        measured = [rung.measured_ms for rung in times.rungs.values() if rung.measured_ms] if times else []
        share = times.limit_ms / min(measured) if times and measured else None
        rows.append(LadderRow(name, folder.problem.title, len(folder.rungs()), share))
    return rows
