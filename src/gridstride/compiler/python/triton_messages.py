"""What Triton says about a function that it cannot compile, told with the user's file and line."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gridstride.compiler.diagnostics import CompileError
from gridstride.compiler.python.python_function import FunctionSource

if TYPE_CHECKING:
    from gridstride.compiler.python.triton import TritonFunction


def file_of(jit: Any) -> str:
    """Where a function stands; older versions of Triton do not keep it."""
    name: str = jit.fn.__code__.co_filename
    return name


def first_line(jit: Any) -> int:
    """Line of `def`; Triton counts the lines of its messages from there."""
    line: int | None = getattr(jit, "def_file_line_number", None)
    if line is None:  # before Triton 3.7: it says where the decorators begin
        above = itertools.takewhile(lambda text: not text.lstrip().startswith("def "), jit.raw_src)
        line = int(jit.starting_line_number) + len(list(above))
    return line


def explained(function: TritonFunction, error: BaseException) -> CompileError:
    """What Triton raised as a CompileError, at the innermost place that it names in a function whose file is known."""
    explanation = function.location.error(f"{type(error).__name__}: {error}")
    for cause in _causes(error):
        node: Any = getattr(cause, "node", None)
        owner = _owner(function.function, getattr(cause, "src", None))
        if owner is None or not hasattr(node, "lineno"):
            continue
        # Triton reads the function without its indentation.
        line = first_line(owner) + node.lineno - 1
        column = node.col_offset + 1 + _indentation(owner)
        message = getattr(cause, "error_message", None) or _last_line(cause.__cause__ or cause)
        explanation = FunctionSource(file_of(owner), line).error(message, line=line, column=column)
    return explanation


def _causes(error: BaseException) -> Iterator[BaseException]:
    following: BaseException | None = error
    while following is not None:
        yield following
        following = following.__cause__


def _owner(function: Any, source: str | None) -> Any:
    """The JITFunction that a source is of: the kernel, or one that it reaches through its globals."""
    reached, waiting = set(), [function]
    while source and waiting:
        cause = waiting.pop()
        if cause.src == source:
            return cause
        reached.add(cause)
        names = cause.fn.__code__.co_names
        called = (cause.fn.__globals__.get(name) for name in names)
        waiting += [jit for jit in called if isinstance(jit, type(function)) and jit not in reached]
    return None


def _indentation(jit: Any) -> int:
    line = FunctionSource(file_of(jit), first_line(jit)).error("").diagnostics[0].source_line
    return len(line) - len(line.lstrip())


def _last_line(error: BaseException) -> str:
    return str(error).strip().rpartition("\n")[2]
