"""PTX text to tokens, in one pass of one regular expression."""

from __future__ import annotations

import re
from bisect import bisect_right

from gridstride.virtual.ptx.syntax_errors import PtxError, location, shown

# An opcode, register or modifier chain is one token: `ld.global.L1::no_allocate.v4.f32`, `%tid.x`. The last
# alternatives take what cannot be PTX, whole, so that a bad text costs one scan too. DWARF is most of a text compiled
# with -G, and only its strings are read, elsewhere; `@@DWARF` lines are the same in PTX before 3.0.
_TOKEN = re.compile(
    r"""
    (?: [ \t\r\n\f\v]+ | //[^\n]* | /\*(?s:.*?)\*/ | @@DWARF[^\n]*
      | \.section\s+\.debug_\w+\s*\{[^{}"]*\} )*+
    (
        [A-Za-z_$%][\w$]* (?: \.\w+ | ::\w+ )*
      | \.[A-Za-z_0-9]\w* (?: ::\w+ )*
      | 0[xX]\w* | 0[fFdD][0-9A-Fa-f]\w*
      | \d+ (?: \.\d* )? (?: [eE][+-]?\d+ )? \w*
      | /\*(?s:.*)
      | <<|>>|<=|>=|==|!=|&&|\|\|
      | [][{}()<>,;:@!|+\-*/%&^~?=]
      | "(?: [^"\\\n] | \\. )*" | "[^"\n]*"
      | \Z | (?s:.)
    )
    """,
    re.VERBOSE | re.ASCII,
)
_LEGAL_START = frozenset('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$%.[]{}()<>,;:@!|+-*/&^~?="')
MAX_TEXT = 1 << 28  # characters; NVRTC's largest modules are some tens of megabytes


class Tokens:
    """The tokens of a text: `texts`, and at the same index the character offset in `starts`. Ends in empty tokens."""

    __slots__ = ("_newlines", "filename", "source", "starts", "texts")

    def __init__(self, source: str, filename: str = "<ptx>") -> None:
        """Scan. Raises PtxError for characters outside PTX, and for unterminated comments and strings."""
        self.source = source = source.rstrip("\0")  # NVRTC counts the final NUL into the size of what it returns
        self.filename = filename
        if len(source) > MAX_TEXT:
            raise PtxError(
                f"the text has {len(source)} characters, more than the limit of {MAX_TEXT}", 1, 1, "", filename
            )
        matches = list(_TOKEN.finditer(source))
        self.texts: list[str] = [match[1] for match in matches]
        self.starts: list[int] = [match.start(1) for match in matches]
        self._newlines: list[int] = [match.start() for match in re.finditer("\n", source)]
        self._check()
        self.texts += ["", ""]
        self.starts += [len(source), len(source)]

    def _check(self) -> None:
        for token in set(self.texts):
            if not token:
                continue
            if token[0] not in _LEGAL_START or token == '"' or token.startswith("/*"):
                raise self.error(self.texts.index(token), _complaint(token))

    def line(self, index: int) -> int:
        """The line, from 1, of a token."""
        return bisect_right(self._newlines, self.starts[index]) + 1

    def error(self, index: int, message: str) -> PtxError:
        """An error at a token."""
        line, column, source_line = location(self.source, self.starts[min(index, len(self.starts) - 1)])
        return PtxError(message, line, column, source_line, self.filename)


def _complaint(token: str) -> str:
    if token.startswith("/*"):
        return "comment is not closed: expected '*/'"
    if token == '"':
        return "string is not closed on its line: expected '\"'"
    if not token.isascii():
        return f"character {shown(token)} outside a comment: PTX is ASCII"
    return f"character {shown(token)} has no place in PTX"
