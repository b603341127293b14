"""What Numba says about a function that it cannot compile, told with the user's file and line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gridstride.compiler.diagnostics import CompileError
from gridstride.compiler.python.python_function import FunctionSource

if TYPE_CHECKING:
    from gridstride.compiler.python.numba import NumbaFunction

_NOTES = 7  # lines of a message: it may go on for a screen about each overload
_PLACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)|at (?P<at>\S+) \((?P<at_line>\d+)\)')
_NAME = re.compile(r"name '(\w+)' is not defined")


def explained(function: NumbaFunction, error: BaseException) -> CompileError:
    """What Numba raised as a CompileError with the user's line."""
    function_source, column = _error_location(function, error)
    sentences = list(_sentences(str(error), function.location.text or ""))
    message = sentences[0].removesuffix(" Raised from None") if sentences else type(error).__name__
    return function_source.error(message, line=function_source.line, column=column, notes=tuple(sentences[1:_NOTES]))


def _sentences(text: str, source: str) -> Iterator[str]:
    """The lines of a message, without those that name passes or repeat the source."""
    code = {line.strip() for line in source.splitlines()}
    for line in map(str.rstrip, text.splitlines()):
        bare = line.strip()
        repeated = bare in code or bare in ("", "^", "<source elided>")
        if not repeated and not bare.startswith(("Failed in ", "During:", 'File "')):
            yield line


def _error_location(function: NumbaFunction, error: BaseException) -> tuple[FunctionSource, int]:
    """The line that an error is about: Numba gives it, or says it, or knew it where it raised; else the function's."""
    location: Any = getattr(error, "loc", None)
    if getattr(location, "line", None):
        return FunctionSource(location.filename, location.line), 0 if location.col is None else location.col + 1
    file = function.location.file
    undefined = _NAME.search(str(error))
    if undefined:
        used = _use_of(undefined[1], function)
        if used is not None:
            return FunctionSource(file, used[0]), used[1]
    lines = [int(m["line"] or m["at_line"]) for m in _PLACE.finditer(str(error)) if _same(m["file"] or m["at"], file)]
    if lines:
        return FunctionSource(file, lines[-1]), 0
    line = _line_when_raised(error, file)
    return (FunctionSource(file, line), 0) if line else (function.location, 0)


def _same(shown: str, file: str) -> bool:
    """Numba shortens paths below the working folder."""
    return file.endswith(shown.lstrip("./"))


def _use_of(name: str, function: NumbaFunction) -> tuple[int, int] | None:
    """Line and column where the function uses a name."""
    try:
        tree = ast.parse(function.location.text or "")
    except SyntaxError:
        return None
    last = max((line for *_, line in function.function.__code__.co_lines() if line), default=function.location.line)
    uses = [(n.lineno, n.col_offset + 1) for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
    return min((use for use in uses if function.location.line <= use[0] <= last), default=None)


def _line_when_raised(error: BaseException, file: str) -> int:
    """The line of the innermost statement that Numba was at: its type inference keeps a `loc` beside what it does."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        frame_locals: dict[str, Any] = trace.tb_frame.f_locals
        # By __dict__: some of Numba's objects start the driver when they are asked for an attribute.
        owners = (getattr(frame_locals.get(name), "__dict__", {}) for name in ("self", "inst"))
        for holder in (frame_locals.get("loc"), *(owner.get("loc") for owner in owners)):
            if holder is not None and getattr(holder, "filename", None) == file:
                line = getattr(holder, "line", 0) or line
        trace = trace.tb_next
    return line
