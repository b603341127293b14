"""Which path shows which page."""

from __future__ import annotations

from nicegui import ui

from gridstride.workbench.pages import (
    again,
    chat,
    glossary,
    history,
    lab,
    ladder,
    ladders,
    lesson,
    portfolio,
    roadmap,
    settings,
)
from gridstride.workbench.pages.frame import show
from gridstride.workbench.state import Workbench


def add_pages(workbench: Workbench) -> None:
    """Register the pages with NiceGUI, which has one table of them for the process."""

    @ui.page("/")
    async def _() -> None:
        await show(workbench, "", lambda: roadmap.build(workbench))

    @ui.page("/day/{word}")
    async def _(word: str) -> None:
        await show(workbench, f"Day {word}", lambda: lesson.build(workbench, word))

    @ui.page("/day/{word}/lab")
    async def _(word: str) -> None:
        await show(workbench, f"Lab of day {word}", lambda: lab.build(workbench, word))

    @ui.page("/again")
    async def _() -> None:
        await show(workbench, "Asked again", lambda: again.build(workbench))

    @ui.page("/ladders")
    async def _() -> None:
        await show(workbench, "Ladders", ladders.build)

    @ui.page("/ladder/{name}")
    async def _(name: str) -> None:
        await show(workbench, f"Ladder of {name}", lambda: ladder.build(name))

    @ui.page("/chat")
    async def _() -> None:
        await show(workbench, "Chat", chat.build)

    @ui.page("/glossary")
    async def _() -> None:
        await show(workbench, "Glossary", glossary.build)

    @ui.page("/history")
    async def _() -> None:
        await show(workbench, "History", lambda: history.build(workbench))

    @ui.page("/portfolio")
    async def _() -> None:
        await show(workbench, "Portfolio", lambda: portfolio.build(workbench))

    @ui.page("/settings")
    async def _() -> None:
        await show(workbench, "Settings", lambda: settings.build(workbench))
