"""Lessons and the glossary as HTML: figures' marks hidden, links led to this workbench's own pages."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

from nicegui import ui

from gridstride.course.content import day_numbers
from gridstride.course.files.markdown import MarkdownLink, for_reader
from gridstride.course.lesson import Day
from gridstride.workbench.pages.markdown_html import html_of, listing_html, sentences_html

_LANGUAGES = {".cu": "cuda", ".toml": "toml", ".py": "python"}
_DAY_FILE = re.compile(r"(?:\.\./)?day(\d{3})/lesson\.md")
_DAY = re.compile(r"\(Day (\d+)\)")


class Prose(ui.markdown):
    """A text of the course, rendered by our own parser; NiceGUI's element brings the colours of listings."""

    def _handle_content_change(self, content: str) -> None:
        self.props["innerHTML"] = html_of(content)


class Sentences(ui.markdown):
    """A hint, a question or an answer."""

    def __init__(self, text: str, *, shape: str = "prose") -> None:
        super().__init__(text.strip(), sanitize=False)
        self.classes(shape)

    def _handle_content_change(self, content: str) -> None:
        self.props["innerHTML"] = sentences_html(content)


class Listing(ui.markdown):
    """A source with its syntax coloured. It is no Markdown, and ends nowhere before its end."""

    def __init__(self, text: str, language: str) -> None:
        self._language = language
        super().__init__(text.rstrip() + "\n", sanitize=True)
        self.classes("prose")

    def _handle_content_change(self, content: str) -> None:
        self.props["innerHTML"] = listing_html(content, self._language)


def prose(text: str) -> Prose:
    """A text of the course, which is trusted."""
    return Prose(for_reader(text, _link), sanitize=False).classes("prose")


def meaning(text: str) -> str:
    """What a term means as HTML, with a link to the day that explains it where that is written."""
    days = day_numbers()
    page = html_of(for_reader(_DAY.sub(lambda match: _day(match, days), text), _link))
    return f'<div class="prose nicegui-markdown">{page}</div>'


def prepare(day: Day) -> None:
    """Have the HTML of a day's texts ready: made on the page, it would keep every other page waiting for 0.1 s."""
    html_of(for_reader(day.text, _link))


def listing(text: str, file: str) -> Listing:
    """A lab's file."""
    return Listing(text, _LANGUAGES.get(Path(file).suffix, "text"))


def _link(link: MarkdownLink) -> str:
    path, _, anchor = link.target.partition("#")
    if path.endswith("glossary.md"):
        return f"[{link.text}](/glossary#{anchor})"
    if match := _DAY_FILE.fullmatch(path):
        return f"[{link.text}](/day/{int(match[1])})"
    return f"[{link.text}]({link.target})" if "://" in link.target or link.target.startswith("/") else link.text


def _day(match: re.Match[str], days: Container[int]) -> str:
    number = int(match[1])
    return f"([day {number}](/day/{number}))" if number in days else f"(day {number}, not written yet)"
