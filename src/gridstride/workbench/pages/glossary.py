"""The terms of the lessons, with a field that narrows them down."""

from __future__ import annotations

import asyncio

from nicegui import ui

from gridstride.course.content import glossary
from gridstride.workbench.pages.prose import meaning


async def build() -> None:
    """The page."""
    terms = await asyncio.to_thread(glossary)
    ui.html("<h1>Glossary</h1>", sanitize=False)
    sections: list[tuple[str, ui.element]] = []

    def narrow(word: str) -> None:
        for text, section in sections:
            section.visible = word.strip().lower() in text

    field = ui.input(label="A term, or a word of its meaning").props('outlined dense clearable type="search"')
    field.on_value_change(lambda change: narrow(change.value or "")).classes("search")
    for anchor, term in terms.items():
        with ui.element("section").classes("term").props(f'id="{anchor}"') as section:
            with ui.element("h2"):
                ui.label(term.name)
            meaning(term.meaning)
        sections.append((f"{term.name} {term.meaning}".lower(), section))
