"""What is to be compiled, checked before a compiler sees it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gridstride.compiler.diagnostics import CompileError, Diagnostic
from gridstride.compiler.lexer import Text


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """One compilation: source, name expressions of templates, architecture, options, file name and folders."""

    source: str
    names: tuple[str, ...]
    arch: str
    options: tuple[str, ...]
    filename: str
    include_paths: tuple[Path, ...]


def checked_source(source: str, filename: str) -> str:
    """The source; TypeError for what is no text, CompileError for what no compiler takes."""
    if not isinstance(source, str):
        raise TypeError(f"CUDA source must be a str, not {type(source).__name__}")
    try:
        bad = source.find("\0")
        problem = "a NUL character" if bad >= 0 else ""
        source.encode()
    except UnicodeEncodeError as error:
        bad, problem = error.start, "a surrogate that is no character"
    if not source.strip():
        raise CompileError([Diagnostic("error", filename, 1, 1, "the source is empty", "")])
    if problem:
        text = Text(source)
        line = source.count("\n", 0, bad) + 1
        column = bad - source.rfind("\n", 0, bad)
        shown = text.line(line).encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
        raise CompileError([Diagnostic("error", filename, line, column, f"the source holds {problem}", shown)])
    return source


def checked_line(what: str, text: str) -> str:
    """The text; ValueError for what is not one printable line."""
    if not isinstance(text, str) or not text.strip() or not text.isprintable():
        raise ValueError(f"{what} {text!r} is not one line of printable text")
    return text
