"""The terms of the lessons, with a field that narrows them down."""

from __future__ import annotations

import asyncio
import functools
from html import escape

from nicegui import ui

from gridstride.course.content import glossary
from gridstride.workbench.pages.prose import meaning

_PAUSE = 150  # ms without a key, after which the terms are narrowed down


async def build() -> None:
    """The page: its terms are one element, as some six hundred would hold up every other page for 0.2 s."""
    terms = await asyncio.to_thread(sections)
    ui.html("<h1>Glossary</h1>", sanitize=False)
    field = ui.input(label="A term, or a word of its meaning").props('outlined dense clearable type="search"')
    field.props(f"debounce={_PAUSE}").classes("search")
    shown = ui.html(narrowed(terms, ""), sanitize=False).classes("terms")
    field.on_value_change(lambda change: shown.set_content(narrowed(terms, change.value or "")))


@functools.cache
def sections() -> tuple[tuple[str, str], ...]:
    """What each term is found by, and its part of the page; of what is installed, which stays as it is."""
    return tuple(
        (
            f"{term.name} {term.meaning}".lower(),
            f'<section class="term" id="{anchor}"><h2>{escape(term.name)}</h2>{meaning(term.meaning)}</section>',
        )
        for anchor, term in glossary().items()
    )


def narrowed(terms: tuple[tuple[str, str], ...], word: str) -> str:
    """The page's part of the terms that have the word in their name or meaning."""
    word = word.strip().lower()
    return "\n".join(page for text, page in terms if word in text) or "<p>No term has that word.</p>"
