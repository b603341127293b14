"""Text from strangers, made fit to be shown: a terminal obeys control characters, and readers believe what they see.

What is printed, written to a page or given as JSON passes through here on its way out: messages, source lines, what
kernels print, names of files.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

_UNUSUAL = re.compile(r"[^\n\t -~]")
# Controls (C0, C1), formats (bidirectional marks, zero widths, tags), lone surrogates, separators of lines and
# paragraphs. Private and unassigned characters have no meaning to anybody and may have one to a font.
_REFUSED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))  # of variants of the character before
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def plain(text: str) -> str:
    """The text with a replacement character for each that could play with a terminal or cannot be seen."""
    if text.isascii() and text.isprintable():
        return text
    return _UNUSUAL.sub(_shown, text)


def plain_json(thing: Any) -> Any:
    """The same with every text in an object of JSON."""
    if isinstance(thing, str):
        return plain(thing)
    if isinstance(thing, Mapping):
        return {plain(str(name)): plain_json(value) for name, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [plain_json(item) for item in thing]
    return thing


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    hidden = character in _INVISIBLE or any(ord(character) in selectors for selectors in _SELECTORS)
    return _REPLACEMENT if hidden or unicodedata.category(character) in _REFUSED else character
