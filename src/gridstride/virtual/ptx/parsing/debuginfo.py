"""`.file`, `.loc` and `.section`: which source line each instruction comes from, through what it was inlined."""

from __future__ import annotations

import re

from gridstride.virtual.ptx.module import SourceLocation
from gridstride.virtual.ptx.parsing.cursor import Cursor
from gridstride.virtual.ptx.syntax_errors import shown

_MOST = 2**63 - 1


def read_file(cursor: Cursor, files: dict[int, str]) -> None:
    """Read what follows `.file`: an index, a path, and perhaps time stamp and size."""
    index = cursor.count("file index", most=_MOST)
    files[index] = _path(cursor.string())
    if cursor.accept(","):
        cursor.count("time stamp of a file", most=_MOST)
        cursor.expect(",", "between time stamp and file size")
        cursor.count("file size", most=_MOST)


def _path(written: str) -> str:
    """A path that compilers write as a C string: what is not ASCII is bytes in octal there."""
    if "\\" not in written:
        return written
    data = _ESCAPE.sub(lambda e: bytes([int(e[1], 8) & 255]) if len(e[1]) == 3 else e[1], written.encode())
    return data.decode("utf-8", "replace")


def skip_section(cursor: Cursor) -> None:
    """Pass over `.section name { … }`, which holds no braces of its own (DWARF)."""
    name, at = cursor.take(), cursor.pos
    if name[0] not in "._$" and not name[0].isalpha():
        raise cursor.error(f"expected the name of a section, found {shown(name)}", at - 1)
    cursor.expect("{", "after the name of a section")
    try:
        end = cursor.texts.index("}", cursor.pos)
    except ValueError:
        raise cursor.error(f"section {name} is not closed: expected '}}'", at) from None
    cursor.pos = end + 1


_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_STRINGS = re.compile(r"\.section\s+\.debug_str\s*\{([^{}]*)\}")
_BYTES = frozenset(str(byte) for byte in range(256))
_STRING_PART = re.compile(r"([\w$]+):|\.b8\s+([\d,\s]+)")


def debug_strings(source: str) -> dict[str, str]:
    """The strings of `.section .debug_str` by label. It stands after the functions that use them, so is read first."""
    section = _STRINGS.search(source)
    strings: dict[str, bytearray] = {}
    current = bytearray()
    for label, data in _STRING_PART.findall(section[1] if section else ""):
        if label:
            current = strings.setdefault(label, bytearray())
        else:
            current += bytes(int(byte) for byte in data.replace(",", " ").split() if byte in _BYTES)
    return {name: bytes(data).split(b"\0")[0].decode("utf-8", "replace") for name, data in strings.items()}


class Locations:
    """The current source location while a function body is read.

    `inlined_at` names a call site by file, line and column only. The compiler writes that site's own `.loc` first, so
    the last location with these numbers is the one meant, with its own chain.
    """

    def __init__(self, strings: dict[str, str]) -> None:
        self.current: SourceLocation | None = None
        self._strings = strings
        self._last: dict[tuple[int, int, int], SourceLocation] = {}

    def read(self, cursor: Cursor) -> None:
        """Read what follows `.loc`."""
        where = _triple(cursor)
        function: str | None = None
        inlined_at: SourceLocation | None = None
        while cursor.accept(","):
            keyword = cursor.take()
            if keyword == "function_name":
                function = self._strings.get(cursor.take())
                if cursor.accept("+"):
                    cursor.count("offset of a function name", most=_MOST)
            elif keyword == "inlined_at":
                site = _triple(cursor)
                inlined_at = self._last.get(site) or SourceLocation(*site)
            else:
                raise cursor.error(f"expected function_name or inlined_at, found {shown(keyword)}", cursor.pos - 1)
        if inlined_at is not None and _depth(inlined_at) > _DEEPEST:
            inlined_at = SourceLocation(inlined_at.file, inlined_at.line, inlined_at.column)
        self.current = self._last[where] = SourceLocation(*where, inlined_at, function)


_DEEPEST = 200  # calls inlined in one another; more comes only from a text that inlines a place into itself


def _depth(location: SourceLocation) -> int:
    return len(location.chain)


def _triple(cursor: Cursor) -> tuple[int, int, int]:
    file = cursor.count("file index of .loc", most=_MOST)
    line = cursor.count("line of .loc", most=_MOST)
    column = cursor.count("column of .loc", most=_MOST) if cursor.token[:1].isdigit() else 0
    return file, line, column
