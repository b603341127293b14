"""Texture and surface references of CUDA 11 in preprocessed text: made managed variables, where they stand.

`texture<float, 2> image;` at namespace scope becomes `__device__ __managed__ texture<float, 2> image;`, of the class
in cuda11/old_textures.h. Nothing else is changed, so messages name the user's lines and columns.
"""

from __future__ import annotations

import re
from pathlib import Path

_MANAGED = "__attribute__((device)) __attribute__((managed)) "
_USE = re.compile(r"\b(?:texture|surface)\s*<")
_ALIAS = re.compile(r"\s*(\w+)\s*;")
_USING = re.compile(r"\busing\s+(\w+)\s*=\s*$")
_DECLARED = re.compile(r"\s*[A-Za-z_]\w*\s*[;=({,]")
_MARKER = re.compile(r"^[ \t]*#.*$", re.M)
_SPECIFIERS = re.compile(r"(?:\s*\b(?:static|extern|inline|const)\b)*\s*\Z")
_REACH = 4096
"""Characters before a declaration that are looked at; between two there are lines of `#` only."""


def rewrite(file: Path) -> None:
    """The references in a file of preprocessed text."""
    text = file.read_text(errors="surrogateescape")
    file.write_text(managed_references(text), errors="surrogateescape")


def managed_references(text: str) -> str:
    """The text with every texture and surface reference a managed variable."""
    if not _USE.search(text):
        return text
    places, aliases = [], set()
    for use in _USE.finditer(text):
        end = _closed(text, use.end())
        if end is None:
            continue
        before = _before(text, use.start())
        if before.rstrip().endswith("typedef"):
            aliases |= {found[1] for found in [_ALIAS.match(text, end)] if found}
        elif using := _USING.search(before):
            aliases.add(using[1])
        elif _begins(before) and _DECLARED.match(text, end):
            places.append(use.start())
    for use in _uses_of(aliases, text):
        if _begins(_before(text, use.start())) and _DECLARED.match(text, use.end()):
            places.append(use.start())
    for place in sorted(places, reverse=True):
        text = text[:place] + _MANAGED + text[place:]
    return text


def _uses_of(aliases: set[str], text: str) -> list[re.Match[str]]:
    return list(re.finditer(rf"\b(?:{'|'.join(map(re.escape, sorted(aliases)))})\b", text)) if aliases else []


def _before(text: str, place: int) -> str:
    """What stands before a place, without the preprocessor's lines."""
    return _MARKER.sub("", text[max(0, place - _REACH) : place])


def _begins(before: str) -> bool:
    """Whether a declaration begins behind that."""
    rest = _SPECIFIERS.sub("", before)
    return not rest or rest.endswith((";", "{", "}", '"C"'))


def _closed(text: str, place: int) -> int | None:
    """Behind the `>` that closes the `<` before a place; None where it is a comparison."""
    depth = 1
    for at in range(place, min(len(text), place + 500)):
        if text[at] in ";{}":
            return None
        depth += {"<": 1, ">": -1}.get(text[at], 0)
        if not depth:
            return at + 1
    return None
