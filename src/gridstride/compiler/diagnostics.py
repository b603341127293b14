"""What the compiler said, as data: NVRTC's log parsed to file, line, column, message and source line."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gridstride.one_message import OneMessage

_SHOWN_ERRORS = 20  # a broken header can give thousands; the first few tell the story
_SHOWN_COLUMNS = 160

_HEAD = re.compile(
    r"^(?:(?P<file>\S.*?)\((?P<line>\d+)\)|(?P<end>At end of source)|(?P<tool>Command-line|nvrtc)):? "
    r"(?P<severity>(?:catastrophic |internal |command-line )?error|warning|remark|note)"
    r"(?: (?P<code>#[\w-]+))?: (?P<message>.*)$"
)
_LOOSE_NOTE = re.compile(r"^Note(?: #[\w-]+)?: (?P<message>.*)$")
_CARET = re.compile(r"^\s*\^\s*$")
_QUOTED = re.compile(r'"([^"]+)"')


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning; line and column count from 1 (characters), 0 where there is none."""

    severity: str  # "error" | "warning"
    file: str
    line: int
    column: int
    message: str
    source_line: str
    notes: tuple[str, ...] = ()

    def render(self) -> str:
        """`file:line:column: error: message`, the source line, a caret under the column, notes."""
        location = ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])
        lines = [f"{location}: {self.severity}: {self.message}"]
        if self.source_line.strip():
            lines += [f"  {line}" for line in _window(self.source_line, self.column)]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


class CompileError(OneMessage, Exception):
    """Source that does not compile; `file`, `line`, `column` and `message` are the first error's."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)
        first = self.errors[0]
        self.file, self.line, self.column, self.message = first.file, first.line, first.column, first.message

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity == "error")

    def __str__(self) -> str:
        errors = self.errors
        shown = [error.render() for error in errors[:_SHOWN_ERRORS]]
        if len(errors) > _SHOWN_ERRORS:
            shown.append(f"… and {len(errors) - _SHOWN_ERRORS} more errors")
        return "\n".join(shown)


class CompileWarning(UserWarning):
    """What the compiler warns of in source that compiles all the same; `diagnostic` says where."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic

    def __str__(self) -> str:
        return self.diagnostic.render()


def parse_log(log: str, *, filename: str, source: str) -> list[Diagnostic]:
    """NVRTC's program log as diagnostics, in its order; remarks and totals are left out."""
    diagnostics: list[Diagnostic] = []
    for head, body in _blocks(log.splitlines()):
        if isinstance(head, str):
            if diagnostics:
                diagnostics[-1] = replace(diagnostics[-1], notes=(*diagnostics[-1].notes, head))
        elif head["severity"] == "note":
            if diagnostics:
                location = f"{head['file']}:{head['line']}: " if head["file"] else ""
                diagnostics[-1] = replace(diagnostics[-1], notes=(*diagnostics[-1].notes, location + head["message"]))
        elif head["severity"] != "remark":
            diagnostics.append(_diagnostic(head, body, filename=filename, source=source))
    return diagnostics


def _blocks(lines: Sequence[str]) -> Iterator[tuple[re.Match[str] | str, list[str]]]:
    """Each message's first line (matched; a str for a note without a place) with the indented lines below it."""
    current: tuple[re.Match[str] | str, list[str]] | None = None
    for line in lines:
        head = _HEAD.match(line)
        note = _LOOSE_NOTE.match(line)
        if head or note or not line.startswith(" "):
            if current:
                yield current
            current = (head, []) if head else (note["message"], []) if note else None
        elif current and line.strip():
            current[1].append(line)
    if current:
        yield current


def _diagnostic(head: re.Match[str], body: list[str], *, filename: str, source: str) -> Diagnostic:
    severity = "warning" if head["severity"] == "warning" else "error"
    caret = next((i for i, line in enumerate(body) if i and _CARET.match(line)), 0)
    message_lines, note_lines = (body[: caret - 1], body[caret + 1 :]) if caret else (body, [])
    message = " ".join([head["message"].strip(), *(line.strip() for line in message_lines)])
    notes = tuple(line.strip() for line in note_lines)
    if head["tool"]:
        return Diagnostic(severity, filename, 0, 0, message, "", notes)
    lines = source.splitlines() or [""]
    if head["end"]:
        last = lines[-1]
        return Diagnostic(severity, filename, len(lines), len(last) + 1, message, last, notes)
    file, line = head["file"], int(head["line"])
    if caret:
        shown = body[caret - 1][2:]  # NVRTC indents the line by two
        column = _column(shown, body[caret].index("^") - 2)
    else:
        shown = lines[line - 1] if file == filename and line <= len(lines) else ""
        column = _quoted_column(message, shown)
    return Diagnostic(severity, file, line, column, message, shown, notes)


def _column(shown: str, byte_offset: int) -> int:
    """NVRTC places its caret by UTF-8 bytes; columns here are characters, from 1."""
    return len(shown.encode()[: max(byte_offset, 0)].decode(errors="ignore")) + 1


def _quoted_column(message: str, shown: str) -> int:
    """The column of the first identifier that the message quotes and the line holds, else 0."""
    for name in _QUOTED.findall(message):
        at = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", shown)
        if at:
            return at.start() + 1
    return 0


def _window(source_line: str, column: int) -> list[str]:
    """The source line, cut to a readable width around the column, and the caret line."""
    start = max(0, column - _SHOWN_COLUMNS // 2) if len(source_line) > _SHOWN_COLUMNS else 0
    text = source_line[start : start + _SHOWN_COLUMNS].rstrip()
    if not column:
        return [text]
    return [text, "".join(_blank(c) for c in source_line[start : column - 1]) + "^"]


def _blank(character: str) -> str:
    """White space as wide as the character is on a terminal, so that the caret stands under its column."""
    if character == "\t":
        return "\t"
    return "  " if unicodedata.east_asian_width(character) in "WF" else " "
