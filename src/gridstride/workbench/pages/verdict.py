"""A verdict on a page: what was found and where, or what was measured beside what had been said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui

from gridstride.course.learner.predictions import measurement
from gridstride.course.lesson import Day
from gridstride.plain import plain


def show(
    day: Day, outcome: Mapping[str, Any], predicted: Mapping[str, str], *, reveal: Callable[[int], None] | None
) -> None:
    """The verdict; `reveal` scrolls the editor to a line, where that still has the text that was judged."""
    words = outcome["verdict"]
    passed = words["verdict"] == "pass"
    with ui.element("div").classes(f"verdict {'pass' if passed else 'fail'}"):
        ui.label(f"{'Pass' if passed else 'Not yet'} ({words['seconds']:.1f} s)").classes("headline")
        if passed:
            ui.label(day.lab.shows)
            _measured(day, words["measured"], predicted)
        for finding in words["findings"]:
            _finding(finding, reveal)
        if outcome.get("printed"):
            ui.label("The kernel printed:").classes("soft small")
            _pre(outcome["printed"])


def _finding(finding: Mapping[str, Any], reveal: Callable[[int], None] | None) -> None:
    line, kind = finding["line"], finding["kind"].replace("_", " ")
    with ui.element("div").classes("finding"):
        with ui.element("div").classes("head"):
            ui.label(kind).classes("kind")
            if line and reveal is not None:
                jump = ui.button(f"line {line}", on_click=lambda: reveal(line), color=None).props("flat dense no-caps")
                jump.props(f'aria-label="Show line {line} in the editor"').classes("line")
            elif line:
                ui.label(f"line {line}").classes("line")
        if kind == "compile error":
            _pre(finding["message"])
        else:
            ui.label(plain(finding["message"])).classes("said")
        source = [line for line in finding["shown"][1:] if " | " in line]
        if source:
            _pre("\n".join(source))


def _measured(day: Day, measured: Mapping[str, float], predicted: Mapping[str, str]) -> None:
    if not measured:
        return
    with ui.element("dl").classes("measured"):
        for name, value in measured.items():
            if name not in day.figures:  # the lesson has been rewritten since
                continue
            with ui.element("dt"):
                ui.label(name.replace("_", " "))
            with ui.element("dd"):
                ui.label(measurement(day, name, value, predicted.get(name)))


def _pre(text: str) -> None:
    """Text as it stands, lines and all."""
    with ui.element("pre").classes("listing").props('tabindex="0"'):
        ui.label(plain(text))
