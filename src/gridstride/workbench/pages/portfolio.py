"""The learner's portfolio: written on asking, shown as it is."""

from __future__ import annotations

import asyncio

from nicegui import ui

from gridstride.course.course_errors import ProgressError
from gridstride.course.learner.workspace import workspace
from gridstride.course.portfolio.site_folder import NAME
from gridstride.workbench.judge_process import JudgeEnded
from gridstride.workbench.pages.frame import button, embedded, trouble
from gridstride.workbench.state import Workbench


async def build(workbench: Workbench) -> None:
    """The page."""
    ui.html("<h1>Portfolio</h1>", sanitize=False)
    ui.label(
        "A website of the labs that you have passed: your sources, the verdicts, what was counted beside what you had "
        "predicted, and what a warp touches. It has no scripts and fetches nothing: put the folder on any web server."
    )
    with ui.element("div").classes("predict"):
        name = ui.input(label="Your name, as the site shows it").props("outlined dense")
        write = button("Write it", lambda: _write(), strong=True)
        status = ui.label().classes("status").props('role="status"')
    area = ui.element("section")

    async def _write() -> None:
        write.disable()
        status.text = "writing, each kernel is run once for its pictures …"
        try:
            reply = await workbench.dispatcher.portfolio(name.value or "")
            refused = reply.get("refused") or reply.get("error")
        except (ProgressError, JudgeEnded) as error:
            refused = str(error)
        write.enable()
        status.text = "" if refused else "written"
        _show(area, refused, exists=await asyncio.to_thread(_folder_exists))

    _show(area, "", exists=await asyncio.to_thread(_folder_exists))


def _folder_exists() -> bool:
    return (workspace() / NAME / "index.html").is_file()


def _show(area: ui.element, refused: str | None, *, exists: bool) -> None:
    area.clear()
    with area:
        if refused:
            trouble(refused)
        elif exists:
            ui.label(f"In {workspace() / NAME}").classes("soft small")
            ui.link("Open it in a page of its own", "/portfolio/site/index.html", new_tab=True)
            embedded("/portfolio/site/index.html", "Portfolio")
