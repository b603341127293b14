"""Where in a TOML text each table and key stands: the standard library's reader gives values and no places."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

Path = tuple[str | int, ...]

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*("[^"]+"|'[^']+'|[\w-]+)\s*=""")
_QUOTES = ('"""', "'''")


def lines_of(text: str) -> dict[Path, int]:
    """The line of each table and of each of its keys, by path: ("question", 2, "answer"). The first line is 1."""
    lines: dict[Path, int] = {(): 1}
    table: Path = ()
    entries: Counter[Path] = Counter()
    for number, line in _outside_of_texts(text):
        if header := _HEADER.match(line):
            table = _table(header[2].split("."), header[1] == "[[", entries)
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            lines.setdefault((*table, key[1].strip("\"'")), number)
    return lines


def _table(parts: list[str], is_entry: bool, entries: Counter[Path]) -> Path:
    """The path of a table; of an array of tables, the entry that is being written."""
    path: Path = ()
    for index, part in enumerate(parts):
        path = (*path, part.strip().strip("\"'"))
        if is_entry and index == len(parts) - 1:
            entries[path] += 1
        if entries[path]:
            path = (*path, entries[path] - 1)
    return path


def _outside_of_texts(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without those that a text over several lines goes on in."""
    closing = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not closing:
            yield number, line
            quote = next((quote for quote in _QUOTES if quote in line), "")
            closing = quote if line.count(quote or "\0") % 2 else ""
        elif closing in line:
            closing = ""
