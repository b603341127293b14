"""Lessons and the glossary as HTML: figures' marks hidden, links led to this workbench's own pages."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

from nicegui import ui
from nicegui.elements.markdown import prepare_content

from gridstride.course.content import day_numbers
from gridstride.course.lesson import Day
from gridstride.course.markdown import Link, for_reader

_LANGUAGES = {".cu": "cuda", ".toml": "toml", ".py": "python"}
_DAY_FILE = re.compile(r"(?:\.\./)?day(\d{3})/lesson\.md")
_TABLE = '<table tabindex="0">'
_DAY = re.compile(r"\(Day (\d+)\)")


def prose(text: str) -> ui.markdown:
    """A text of the course, which is trusted."""
    return _reachable(ui.markdown(for_reader(text, _link), sanitize=False).classes("prose"))


def meaning(text: str) -> str:
    """What a term means as HTML, with a link to the day that explains it where that is written."""
    days = day_numbers()
    page = prepare_content(for_reader(_DAY.sub(lambda match: _day(match, days), text), _link), extras="")
    return f'<div class="prose nicegui-markdown">{_focusable(page)}</div>'


def prepare(day: Day) -> None:
    """Have the HTML of a day's texts ready: made on the page, it would keep every other page waiting for 0.1 s."""
    for text in (day.text, *(each.ask.strip() for each in day.questions), *(each.answer for each in day.interviews)):
        prepare_content(for_reader(text, _link), extras=" ".join(ui.markdown.default_extras))


def code(text: str, language: str) -> ui.markdown:
    """A listing, with its syntax coloured."""
    return _reachable(ui.markdown(f"```{language}\n{text.rstrip()}\n```", sanitize=True).classes("prose"))


def listing(text: str, file: str) -> ui.markdown:
    """A lab's file."""
    return code(text, _LANGUAGES.get(Path(file).suffix, "text"))


def _reachable(shown: ui.markdown) -> ui.markdown:
    """Listings and tables, which scroll where they are too wide, by keyboard too; a table's corner heads nothing."""
    shown.props["innerHTML"] = _focusable(shown.props["innerHTML"])
    return shown


def _focusable(page: str) -> str:
    for plain, marked in (("<th></th>", "<td></td>"), ("<pre>", '<pre tabindex="0">'), ("<table>", _TABLE)):
        page = page.replace(plain, marked)
    return page


def _link(link: Link) -> str:
    path, _, anchor = link.target.partition("#")
    if path.endswith("glossary.md"):
        return f"[{link.text}](/glossary#{anchor})"
    if match := _DAY_FILE.fullmatch(path):
        return f"[{link.text}](/day/{int(match[1])})"
    return f"[{link.text}]({link.target})" if "://" in link.target or link.target.startswith("/") else link.text


def _day(match: re.Match[str], days: Container[int]) -> str:
    number = int(match[1])
    return f"([day {number}](/day/{number}))" if number in days else f"(day {number}, not written yet)"
