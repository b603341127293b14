"""A Python function as the source of a kernel: where it stands, and what of the world it depends on."""

from __future__ import annotations

import inspect
import linecache
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from gridstride.compiler.diagnostics import CompileError, Diagnostic

_KNOWN_MODULES = frozenset({"cmath", "math", "numba", "numpy", "operator"})  # what they hold goes by their version
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function's file and the line of its first statement, decorators included."""

    file: str
    line: int

    def error(self, message: str, *, line: int = 0, column: int = 0, notes: tuple[str, ...] = ()) -> CompileError:
        """What a compiler said about a line of the file; without one, about the function."""
        line = line or self.line
        shown = linecache.getline(self.file, line).rstrip("\n")
        return CompileError([Diagnostic("error", self.file, line, column, message, shown, notes)])

    @property
    def text(self) -> str | None:
        """The whole file, so that line numbers in it are those of the messages."""
        return "".join(linecache.getlines(self.file)) or None


def function_source(function: Callable[..., Any]) -> FunctionSource:
    """Where a function was written; ValueError where its source cannot be read (typed into a prompt, say)."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        name = getattr(function, "__name__", repr(function))
        raise ValueError(f"the source of {name} cannot be read ({error}): write it in a file") from None
    defined = next((number for number, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    return FunctionSource(inspect.getsourcefile(function) or "<python>", first + defined)


def fingerprint(function: Callable[..., Any]) -> str | None:
    """What compiling the function depends on, hashed: its source, place, and the values of names that it uses.

    None when that cannot be known: a global of a type whose value has no certain text.
    """
    parts: list[str] = []
    if not _collect(function, parts, set()):
        return None
    return digest(parts)


def digest(parts: Iterable[str]) -> str:
    """One key from several texts."""
    hashed = blake2b(digest_size=32)
    for part in parts:
        hashed.update(part.encode(errors="surrogatepass") + b"\0")
    return hashed.hexdigest()


def _collect(function: Any, parts: list[str], visited: set[int]) -> bool:
    options = getattr(function, "targetoptions", {})  # of Numba's decorator: the source may have them by a name only
    function = getattr(function, "py_func", function)
    if id(function) in visited:
        return True
    visited.add(id(function))
    parts += [f"{name}={options[name]!r}" for name in sorted(options) if isinstance(options[name], _PLAIN)]
    try:
        location, source = function_source(function), inspect.getsource(function)
    except ValueError:
        return False
    parts += [location.file, str(location.line), source, repr(function.__defaults__)]
    used = inspect.getclosurevars(function)
    values = {**used.globals, **used.nonlocals}
    return all(_value(name, values[name], parts, visited) for name in sorted(values))


def _value(name: str, value: Any, parts: list[str], visited: set[int]) -> bool:
    parts.append(name)
    if isinstance(value, types.ModuleType):
        parts.append(value.__name__)
        return value.__name__.partition(".")[0] in _KNOWN_MODULES
    if isinstance(value, types.FunctionType) or hasattr(value, "py_func"):
        return _collect(value, parts, visited)
    if isinstance(value, tuple):
        return all(_value(name, item, parts, visited) for item in value)
    if hasattr(value, "sig") and hasattr(value, "name"):  # what Numba's declare_device gives
        parts.append(f"{value.name} {value.sig}")
        return True
    if isinstance(value, type) or callable(value):  # a type of Numba's, a builtin: known by its name
        parts.append(f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}")
        return True
    parts.append(f"{type(value).__name__} {value!r}")
    return isinstance(value, _PLAIN)
