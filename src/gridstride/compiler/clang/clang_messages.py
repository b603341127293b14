"""Clang's messages as data: file, line, column in characters, message, source line, notes."""

from __future__ import annotations

import re
from dataclasses import replace

from gridstride.compiler.diagnostics import Diagnostic

_PLACED = re.compile(
    r"(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): "
    r"(?P<severity>fatal error|error|warning|note|remark): (?P<said>.*)"
)
_LOOSE = re.compile(r"(?:[^\s:]*clang[^\s:]*: )?(?P<severity>fatal error|error|warning): (?P<said>.*)")


def parse_clang_log(log: str, *, filename: str, source: str) -> list[Diagnostic]:
    """Errors and warnings in clang's order, each with its notes."""
    diagnostics: list[Diagnostic] = []
    for line in log.splitlines():
        placed = _PLACED.fullmatch(line)
        if placed and placed["severity"] in ("note", "remark"):
            if diagnostics and placed["severity"] == "note":
                note = f"{placed['file']}:{placed['line']}: {placed['said']}"
                diagnostics[-1] = replace(diagnostics[-1], notes=(*diagnostics[-1].notes, note))
        elif placed:
            diagnostics.append(_diagnostic(placed, filename=filename, source=source))
        elif loose := _LOOSE.fullmatch(line):
            severity = "warning" if loose["severity"] == "warning" else "error"
            diagnostics.append(Diagnostic(severity, filename, 0, 0, loose["said"], ""))
    return diagnostics


def _diagnostic(match: re.Match[str], *, filename: str, source: str) -> Diagnostic:
    file, line = match["file"], int(match["line"])
    shown = _line(source, line) if file == filename else _line_of_file(file, line)
    # Clang counts bytes, columns here are characters.
    column = len(shown.encode()[: int(match["column"]) - 1].decode(errors="ignore")) + 1 if shown else 0
    severity = "warning" if match["severity"] == "warning" else "error"
    return Diagnostic(severity, file, line, column, match["said"].strip(), shown)


def _line(text: str, number: int) -> str:
    lines = text.split("\n")
    return lines[number - 1].rstrip("\r") if number <= len(lines) else ""


def _line_of_file(file: str, number: int) -> str:
    try:
        with open(file, errors="replace") as text:
            return _line(text.read(), number)
    except OSError:
        return ""
