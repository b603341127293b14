"""The #include directives of a source: which files they may open, and which of the user's files they reach.

NVRTC opens whatever path an #include names and quotes lines of it in its messages, so a source from a stranger could
read any file. Three things stand against that: the program's name lies in a folder that cannot exist, so that no
working folder is searched; paths that leave the include folders, and names made by macros, are refused here; and
options that name files are refused in options.py. A library header's own macro-made #include can still be steered by
a macro of the same name: code that is not trusted belongs in a process that cannot see the file system as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gridstride.compiler.diagnostics import CompileError, Diagnostic
from gridstride.compiler.lexer import Text

_DIRECTIVES = frozenset({"include", "include_next", "embed", "import"})
_QUERIES = frozenset({"__has_include", "__has_include_next", "__has_embed"})
_GAP = r"(?:[^\S\n]|/\*.*?\*/)*"
_NAME = re.compile(_GAP + r"\(?" + _GAP + r"""(?:<(?P<angled>[^>\n]*)>|"(?P<quoted>[^"\n]*)")""", re.DOTALL)
_SPLICED_TRIGRAPH = re.compile(r"\?\?/[ \t]*\r?\n")


@dataclass(frozen=True, slots=True)
class Include:
    name: str | None  # None: made by a macro
    line: int
    column: int


def find_includes(text: Text) -> list[Include]:
    """Every #include and __has_include, in branches that the preprocessor would skip too."""
    if not any(word in text.clean for word in ("include", "embed", "import")):
        return []  # reading all tokens, twice, takes a twentieth of what NVRTC takes
    includes = dict.fromkeys(_scan(text, raw_strings=True))
    if 'R"' in text.clean:  # what the preprocessor takes for a raw string depends on the dialect: look both ways
        includes.update(dict.fromkeys(_scan(text, raw_strings=False)))
    return list(includes)


def _scan(text: Text, *, raw_strings: bool) -> Iterator[Include]:
    start: int | None = 0
    while start is not None:
        start, include = _next_include(text, start, raw_strings=raw_strings)
        if include:
            yield include


def _next_include(text: Text, start: int, *, raw_strings: bool) -> tuple[int | None, Include | None]:
    """The first include from an offset on, and where to go on: behind its name, which may hold quotes and slashes."""
    previous, second_last = "\n", "\n"
    for token in text.tokens(raw_strings=raw_strings, start=start):
        directive = previous in {"#", "%:", "??="} and second_last == "\n" and token.text in _DIRECTIVES
        if token.kind == "word" and (directive or token.text in _QUERIES):
            name = _NAME.match(text.clean, token.end)
            if name:
                at = name.start(name.lastgroup or 0) - 1  # the bracket or quote
                return name.end(), Include(name["angled"] or name["quoted"] or "", *text.position(at))
            if directive or not _is_probe(text.clean, token.start):
                return token.end, Include(None, *text.position(token.start))
        previous, second_last = token.text, previous
    return None, None


def _is_probe(clean: str, start: int) -> bool:
    """`#ifdef __has_include` and `defined(__has_include)` ask for the operator, not for a file."""
    return re.search(r"(?:defined[\s(]*|#\s*ifn?def\s+)\Z", clean[max(0, start - 40) : start]) is not None


ADD_ITS_FOLDER = "add its folder to include_paths"
"""What is asked of an include from elsewhere, by someone who does not know who compiles it."""


def check_includes(text: Text, *, filename: str, include_paths: Sequence[Path]) -> None:
    """Raises CompileError for an include that could open a file outside the include folders."""
    problems = []
    if trigraph := _SPLICED_TRIGRAPH.search(text.source):
        problems.append((text.source.count("\n", 0, trigraph.start()) + 1, 0, "the trigraph ??/ is not supported"))
    for include in find_includes(text):
        if include.name is None:
            reason = "the header's name must be written out, not made by a macro"
        elif _leaves(include.name, include_paths):
            reason = f'"{include.name}" lies outside the include folders: {ADD_ITS_FOLDER}'
        else:
            continue
        problems.append((include.line, include.column, reason))
    if problems:
        raise CompileError(
            Diagnostic("error", filename, line, column, message, text.line(line)) for line, column, message in problems
        )


def beside(path: Path, text: Text) -> tuple[Path, ...]:
    """The folder of a source file, and those above it that its includes lead to; empty where none is found there.

    Every compiler looks beside the file first. `#include "../common/x.cuh"` leads to a folder of its own.
    """
    folder = path.absolute().parent
    names = [include.name for include in find_includes(text) if include.name and (folder / include.name).is_file()]
    outside = [Path(os.path.normpath(folder / name)).parent for name in names if _leaves(name, (folder,))]
    return tuple(dict.fromkeys([folder, *outside])) if names else ()


def _leaves(name: str, include_paths: Sequence[Path]) -> bool:
    parts = name.replace("\\", "/").split("/")
    if not os.path.isabs(name) and not Path(name).drive and ".." not in parts:
        return False
    inside = [Path(os.path.realpath(folder)) for folder in include_paths]
    targets = [Path(os.path.realpath(folder / name)) for folder in include_paths]
    return not targets or not all(any(target.is_relative_to(folder) for folder in inside) for target in targets)


def dependencies(text: Text, include_paths: Sequence[Path]) -> dict[Path, bytes] | None:
    """The user's own headers that the source reaches, with their content; None when a macro hides which.

    Takes every file that a name could mean, so that a change to any of them is seen.
    """
    contents: dict[Path, bytes] = {}
    pending = [(text, tuple(include_paths))] if include_paths else []
    while pending:
        current, folders = pending.pop()
        for include in find_includes(current):
            if include.name is None:
                return None
            for folder in folders:
                path = Path(os.path.normpath(folder / include.name))
                if path in contents or not path.is_file():
                    continue
                contents[path] = path.read_bytes()
                below = Text(contents[path].decode(errors="replace"))
                pending.append((below, (path.parent, *include_paths)))
    return contents
