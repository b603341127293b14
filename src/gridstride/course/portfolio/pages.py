"""The pages of a portfolio as HTML: an index, and one page for each passed lab."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridstride.course.portfolio.entries import PassedLab, PortfolioRecord
from gridstride.course.portfolio.highlight import highlighted
from gridstride.course.portfolio.opening import opening
from gridstride.judge import report
from gridstride.plain import plain

if TYPE_CHECKING:
    from gridstride.judge.report.kernel_page import Pictured

INDEX = "index.html"
_FOLDERS = (Path(__file__).parent, Path(report.__file__).parent)  # frame and style are the judge's
_NAMELESS = "GPU kernels"
_UNITS = {"kernel": "cases", "program": "runs", "writing": "cells"}  # what a verdict has gone through

Draw = Callable[[PassedLab], "Sequence[Pictured]"]


def page_names(record: PortfolioRecord) -> list[str]:
    """The names of the files."""
    return [INDEX, *(entry.page for entry in record.entries)]


def render(record: PortfolioRecord, *, name: str, today: date, draw: Draw) -> dict[str, str]:
    """The pages by the names of their files; `draw` gives the pictures of a lab."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FOLDERS), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"date": _date, "time": _time, "sentence": lambda text: text[:1].upper() + text[1:]}
    shared = {"heading": name or _NAMELESS, "name": name, "date": today.isoformat()}
    index, lab = environment.get_template("index.html.j2"), environment.get_template("lab.html.j2")
    pages = {INDEX: plain(index.render(shared, record=record, with_cases=_with_cases))}
    for entry in record.entries:
        pages[entry.page] = plain(lab.render(shared, **_view(entry, draw)))
    return pages


def _view(entry: PassedLab, draw: Draw) -> dict[str, Any]:
    day, run = entry.day, entry.run
    return {
        "entry": entry,
        "day": day,
        "run": run,
        "units": _UNITS[day.lab.kind],
        "chip": _chip(run.chip),
        "opening": opening(day.text),
        "predicted": any(measurement.prediction for measurement in entry.measurements),
        "source": highlighted(run.source, day.lab.file) if run.source else [],
        "pictures": draw(entry),
    }


def _with_cases(entry: PassedLab) -> str:
    """Behind the verdict in the index; empty where it was not recorded how many cases there were."""
    if not entry.run.cases:
        return ""
    return f" in all {entry.run.cases:,} {_UNITS[entry.day.lab.kind]}"


def _chip(name: str | None) -> str:
    """The chip's full name, where it is known."""
    from gridstride.virtual.chips import chip, names

    return chip(name).properties.name if name in names() else name or ""


def _time(at: datetime) -> str:
    """For a machine; HTML knows no microseconds."""
    return at.isoformat(timespec="seconds")


def _date(at: datetime) -> str:
    return at.astimezone().date().isoformat()
