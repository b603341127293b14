"""Colours, where the learner's files are, and what this workbench runs on."""

from __future__ import annotations

from importlib.metadata import version

from nicegui import ui

from gridstride.course.learner.workspace import VARIABLE, workspace
from gridstride.workbench.dispatch import slots
from gridstride.workbench.state import Workbench


async def build(workbench: Workbench) -> None:
    """The page; colours are chosen in the bar above it, for each browser."""
    ui.html("<h1>Settings</h1>", sanitize=False)
    reach = "other machines too, with the password" if workbench.public else "this machine alone"
    facts = {
        "Colours": "the button at the upper right: auto follows the system, and each browser keeps its own",
        "Your files": f"{workspace()} ({VARIABLE} names another folder)",
        "Your record": f"{workbench.store.path}, the same for this workbench and for gridstride in a terminal",
        "Address": f"{workbench.url}, open to {reach}",
        "Runs": f"{slots()} at a time on the virtual GPU, locked in; others wait, and are kept when the server ends",
        "Version": f"GridStride {version('gridstride')}, NiceGUI {version('nicegui')}",
    }
    with ui.element("dl").classes("facts"):
        for name, text in facts.items():
            with ui.element("dt"):
                ui.label(name)
            with ui.element("dd"):
                ui.label(text)
