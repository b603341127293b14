"""The page of a whole program's launches: the heaviest one open, the others a click away, each with its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gridstride.judge.explain.launch import LaunchProfile
from gridstride.judge.report.kernel_page import LEAST_SHARE, heated, launch_figures, templates
from gridstride.judge.report.source_view import SourceLine, source_lines
from gridstride.plain import plain

_ABOVE, _BELOW = 1, 1
"""Lines of the source that are shown before the first that did anything, and behind the last."""


@dataclass(frozen=True, slots=True)
class ProgramSource:
    """What was run: the file with its text, the words it was called with, and the chip's name."""

    file: str
    source: str
    called: str
    chip: str


def render(
    program: ProgramSource, launches: Sequence[LaunchProfile], *, command: str, date: datetime | None = None
) -> str:
    """The page; `launches` come with the heaviest first."""
    page = templates().get_template("launches.html.j2")
    moment = (date or datetime.now().astimezone()).strftime("%Y-%m-%d %H:%M %Z").strip()
    total = sum(launch.us for launch in launches) or 1.0
    shown = [_view(program, launch, launch.us / total) for launch in launches]
    return plain(page.render(program=program, launches=shown, command=command, date=moment))


def _view(program: ProgramSource, launch: LaunchProfile, share: float) -> dict[str, Any]:
    profile = launch.profile
    own = _near(source_lines(program.source), [line.number for line in profile.lines])
    figures = launch_figures(profile, launch.kernel)
    busy = any(resource.share > LEAST_SHARE for resource in profile.resources)
    return {**figures, "level": 3, "launch": launch, "busy": busy, "share": share, "profile": profile, "measured": None,
            "rows": heated(own, profile.lines, {})}  # fmt: skip


def _near(shown: Sequence[SourceLine], numbers: Sequence[int]) -> list[SourceLine]:
    """The kernel's part of the file; nothing of it where none of its lines did anything."""
    if not numbers:
        return []
    first, last = min(numbers) - _ABOVE, max(numbers) + _BELOW
    return [line for line in shown if first <= line.number <= last]
