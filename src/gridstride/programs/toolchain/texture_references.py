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
    offsets, aliases = [], set()
    for use in _USE.finditer(text):
        end = _closed(text, use.end())
        if end is None:
            continue
        preceding_text = _preceding_text(text, use.start())
        if preceding_text.rstrip().endswith("typedef"):
            aliases |= {match[1] for match in [_ALIAS.match(text, end)] if match}
        elif using := _USING.search(preceding_text):
            aliases.add(using[1])
        elif _begins(preceding_text) and _DECLARED.match(text, end):
            offsets.append(use.start())
    for use in _uses_of(aliases, text):
        if _begins(_preceding_text(text, use.start())) and _DECLARED.match(text, use.end()):
            offsets.append(use.start())
    for offset in sorted(offsets, reverse=True):
        text = text[:offset] + _MANAGED + text[offset:]
    return text


def _uses_of(aliases: set[str], text: str) -> list[re.Match[str]]:
    return list(re.finditer(rf"\b(?:{'|'.join(map(re.escape, sorted(aliases)))})\b", text)) if aliases else []


def _preceding_text(text: str, offset: int) -> str:
    """What stands before a place, without the preprocessor's lines."""
    return _MARKER.sub("", text[max(0, offset - _REACH) : offset])


def _begins(preceding_text: str) -> bool:
    """Whether a declaration begins behind that."""
    remaining = _SPECIFIERS.sub("", preceding_text)
    return not remaining or remaining.endswith((";", "{", "}", '"C"'))


def _closed(text: str, offset: int) -> int | None:
    """Behind the `>` that closes the `<` before a place; None where it is a comparison."""
    depth = 1
    for at in range(offset, min(len(text), offset + 500)):
        if text[at] in ";{}":
            return None
        depth += {"<": 1, ">": -1}.get(text[at], 0)
        if not depth:
            return at + 1
    return None
