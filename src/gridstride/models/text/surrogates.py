"""Halves of characters: JSON may spell one alone ("\\ud83c"), but it is no text, and no tokenizer takes it."""

from __future__ import annotations

import re
from typing import Any

_HALF = re.compile("[\ud800-\udfff]")


def half_character(value: Any) -> str | None:
    """The first such half in the texts of a JSON value, its names included; None where all of them are text."""
    rest = [value]
    while rest:  # no recursion: a row may be nested more deeply than Python calls
        item = rest.pop()
        if isinstance(item, str) and (half := _HALF.search(item)):
            return half[0]
        if isinstance(item, dict):
            rest += [*item.values(), *item]
        elif isinstance(item, list):
            rest += reversed(item)
    return None
