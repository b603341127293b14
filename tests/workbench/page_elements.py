"""What tests of pages share: who visits, what was recorded, and elements of a page by their kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import ui

from gridstride.course.learner.progress import LearnerProgress

Visit = Callable[[Callable[..., Any]], None]


def recorded(mine: Path) -> LearnerProgress:
    return LearnerProgress(mine / "progress.sqlite")


def elements(user: Any, kind: type[ui.element], css_class: str = "") -> list[Any]:
    """The elements of a kind, those first that were made first."""
    found = user.find(kind=kind).elements
    return sorted((each for each in found if not css_class or css_class in each.classes), key=lambda each: each.id)


def toggle(details: ui.element) -> None:
    """As a browser says that a line was opened."""
    details._handle_event({"listener_id": next(iter(details._event_listeners)), "args": {}})
