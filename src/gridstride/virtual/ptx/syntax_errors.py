"""What a text that is not valid PTX gets: one message with its place, the line and a caret."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from gridstride.one_message import OneMessage

_WINDOW = 160  # characters of a source line that are shown: generated initialisers run to megabytes on one line

_LOC = re.compile(r"^[ \t]*\.loc[ \t]+\d+[ \t]+(\d+)", re.MULTILINE)


class PtxError(OneMessage, ValueError):
    """Text that does not parse. `line` and `column` count from 1; `str()` shows file, place, message and caret."""

    def __init__(self, message: str, line: int, column: int, source_line: str, filename: str = "<ptx>") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.source_line = source_line
        self.filename = filename

    def __reduce__(self) -> tuple[type[PtxError], tuple[str, int, int, str, str]]:
        return (type(self), (self.message, self.line, self.column, self.source_line, self.filename))

    def of_compiled(self, ptx: str) -> PtxError:
        """The same of text that a compiler made of the file, with the file's own line, as far as the text tells it."""
        text_before = "\n".join(ptx.split("\n", self.line)[: self.line])
        lines = _LOC.findall(text_before)
        message = f"{self.message} (line {self.line} of its PTX)"
        line = int(lines[-1]) if lines else self.line
        return PtxError(message, line, self.column, self.source_line, self.filename)

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}:{self.column}: {self.message}\n{self.excerpt}"

    @property
    def excerpt(self) -> str:
        """The source line, or the part around the column, with a caret under the column."""
        start = max(0, self.column - 1 - _WINDOW // 2) if len(self.source_line) > _WINDOW else 0
        shown = self.source_line[start : start + _WINDOW]
        text_before = shown[: self.column - 1 - start]
        shown = "".join(c if c.isprintable() or c == "\t" else "?" for c in shown)
        return f"{shown}\n{''.join(c if c == chr(9) else ' ' for c in text_before)}^"


def location(text: str, offset: int) -> tuple[int, int, str]:
    """Line, column (both from 1) and source line of a character offset."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start:] if end < 0 else text[start:end]
    return text.count("\n", 0, offset) + 1, offset - start + 1, line.rstrip("\r")


_FEW = 5000  # names: difflib over more would take longer than the parse


def nearest(name: str, candidates: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the closest known name, or nothing."""
    names = [candidate for candidate in candidates if abs(len(candidate) - len(name)) <= 3][:_FEW]
    matches = difflib.get_close_matches(name[:200], names, n=1, cutoff=0.7)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def shown(token: str) -> str:
    """A token as a message quotes it: printable, and short."""
    return ascii(token if len(token) <= 60 else token[:57] + "...") if token else "the end of the text"
