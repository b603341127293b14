"""Gathers what the page of a profile shows and fills the template."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gridstride.judge import report as judge_report
from gridstride.judge.report.svg import tag
from gridstride.plain import plain
from gridstride.profile import intervals
from gridstride.profile.findings.finding import sentence
from gridstride.profile.lines import LineShare
from gridstride.profile.operators import by_family
from gridstride.profile.report.step_chart import step_chart
from gridstride.profile.report.time_bar import time_bar
from gridstride.profile.report.timeline import timeline
from gridstride.profile.summary import ProgramProfile, worth_showing
from gridstride.profile.view import View, milliseconds, short_path
from gridstride.virtual.observe.figures import percent

_FOLDERS = (Path(__file__).parent, Path(judge_report.__file__).parent)  # the style is the judge's
_LINES = 12
_ROWS = 30
_LONGEST = 140  # characters of a kernel's name, which may have thousands


def render(profile: ProgramProfile, *, command: str, date: datetime | None = None) -> str:
    """The page. `command` is what was typed, `date` when, by default now."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FOLDERS), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"percent": percent, "time": milliseconds, "place": short_path, "sentence": sentence,
                            "code": _code, "cut": _cut, "limit": _limit}  # fmt: skip
    page = environment.get_template("profile.html.j2")
    return plain(page.render(_view(profile, command, date or datetime.now().astimezone())))


def _view(profile: ProgramProfile, command: str, date: datetime) -> dict[str, Any]:
    view = profile.view
    return {
        "profile": profile,
        "gpu": view.trace.on_gpu,
        "ended": _ended(profile),
        "steps": view.steps.count,
        "bar": time_bar(view.account, view.steps.count),
        "timeline": timeline(view),
        "chart": step_chart(view.steps.durations) if view.steps.count else None,
        "gaps": view.gaps,
        "lines": _lines(view),
        "families": by_family(view.table),
        "rows": worth_showing(profile, 0.002, _ROWS),
        "share": view.share,
        "date": date.strftime("%Y-%m-%d %H:%M %Z").strip(),
        "command": command,
    }


def _ended(profile: ProgramProfile) -> str:
    """How the program ended, where that was not well."""
    if profile.ran.end == "interrupted":
        return "It was interrupted."
    return f"It did not end well: {profile.ran.said}." if profile.ran.failed else ""


def _lines(view: View) -> list[LineShare]:
    idle = view.gaps.times if view.gaps else intervals.between(view.account.start, view.account.end)
    return view.lines.busiest(idle, _LINES)


def _code(text: str) -> Markup:
    """What stands between backticks as code."""
    parts = (tag("code", part) if number % 2 else Markup.escape(part) for number, part in enumerate(text.split("`")))
    return Markup("").join(parts)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _limit(share: float | None) -> str:
    return "" if share is None else "100 % +" if share > 1 else percent(share)
