"""CUDA C++ text to tokens with their place in the text: enough to find declarations and directives, not a parser."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_SPLICE = re.compile(r"\\[ \t]*\r?\n")
_RAW_STRING = r"""|(?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{0,16})\(.*?\)(?P=delimiter)")"""
_TOKEN = r"""
  (?P<space>[^\S\n]+)
 |(?P<newline>\n)
 |(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
 %s
 |(?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"?)
 |(?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
 |(?P<word>[^\W\d]\w*)
 |(?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
 |(?P<punctuation>::|\?\?=|%%:|[^\s\w]|.)
"""
_WITH_RAW = re.compile(_TOKEN % _RAW_STRING, re.VERBOSE | re.DOTALL)
_WITHOUT_RAW = re.compile(_TOKEN % "", re.VERBOSE | re.DOTALL)
_SKIPPED = frozenset({"space", "comment"})


@dataclass(frozen=True, slots=True)
class Token:
    kind: str  # word, number, string, raw, char, punctuation, newline
    text: str
    start: int  # offset in Text.clean
    end: int


class Text:
    """Source text with backslash-newlines taken out, and the way back from an offset to a line and column."""

    def __init__(self, source: str) -> None:
        self.source = source
        pieces, cuts, last = [], [0], 0
        self._origins = [0]
        for splice in _SPLICE.finditer(source):
            pieces.append(source[last : splice.start()])
            last = splice.end()
            cuts.append(cuts[-1] + len(pieces[-1]))
            self._origins.append(last)
        pieces.append(source[last:])
        self._cuts = cuts
        self.clean = "".join(pieces)
        self.line_starts = [0, *(match.end() for match in re.finditer("\n", source))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column (both from 1) in the source of an offset in `clean`."""
        origin = self.origin(offset)
        line = bisect_right(self.line_starts, origin)
        return line, origin - self.line_starts[line - 1] + 1

    def origin(self, offset: int) -> int:
        """Where in `source` an offset in `clean` is."""
        cut = bisect_right(self._cuts, offset) - 1
        return self._origins[cut] + offset - self._cuts[cut]

    def line(self, number: int) -> str:
        """The text of a line (from 1), without its end; empty when there is no such line."""
        if not 1 <= number <= len(self.line_starts):
            return ""
        start = self.line_starts[number - 1]
        end = self.source.find("\n", start)
        return self.source[start : end if end >= 0 else len(self.source)].rstrip("\r")

    def tokens(self, *, raw_strings: bool = True, start: int = 0) -> Iterator[Token]:
        """Tokens from an offset on, newlines among them, white space and comments not."""
        pattern = _WITH_RAW if raw_strings else _WITHOUT_RAW
        for match in pattern.finditer(self.clean, start):
            kind = match.lastgroup if match.lastgroup != "delimiter" else "raw"
            assert kind is not None  # the last alternative takes any character
            if kind not in _SKIPPED:
                yield Token(kind, match.group(), match.start(), match.end())
