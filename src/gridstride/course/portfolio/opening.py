"""What a day is about: the opening of its lesson, which asks the day's question, as HTML."""

from __future__ import annotations

import re
from textwrap import dedent

from markupsafe import Markup, escape

from gridstride.course.files.markdown import for_terminal
from gridstride.judge.report.svg import tag

_LINK = re.compile(r"\[([^\]]+)\]\([^)\s]+\)")
_CODE_OR_STRESS = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*")


def opening(lesson: str) -> Markup:
    """The paragraphs and listings between the title and the first section."""
    parts: list[Markup] = []
    words: list[str] = []
    listing: list[str] | None = None

    def end_paragraph() -> None:
        if words:
            parts.append(tag("p", _inline(" ".join(words))))
            words.clear()

    for line in for_terminal(lesson).splitlines():
        if line.startswith("```"):
            end_paragraph()
            if listing is not None:
                parts.append(_listing(listing))
            listing = [] if listing is None else None
        elif listing is not None:
            listing.append(line)
        elif line.startswith("## "):
            break
        elif not line.strip():
            end_paragraph()
        elif not line.startswith("# "):
            words.append(line.strip())
    end_paragraph()
    return Markup("\n").join(parts)


def _listing(lines: list[str]) -> Markup:
    return tag(
        "pre", tag("code", dedent("\n".join(lines))), class_="scroll", tabindex=0, role="region", aria_label="Listing"
    )


def _inline(text: str) -> Markup:
    """Code and stress; of a link its text."""
    text, parts, end = _LINK.sub(r"\1", text), [], 0
    for match in _CODE_OR_STRESS.finditer(text):
        parts.append(escape(text[end : match.start()]))
        code, strong, stress = match.groups()
        parts.append(tag("code", code) if code else tag("strong", strong) if strong else tag("em", stress))
        end = match.end()
    return Markup("").join((*parts, escape(text[end:])))
