"""Lists, tables and sentences in generated code, in lines that are not long."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence

_MOST = 110  # columns


def wrapped(head: str, items: Sequence[str], tail: str, *, indent: int = 0, last_comma: bool = True) -> str:
    """`head`, the items with commas between them, `tail`.

    `indent`: of the line that it stands in, which has it already. `last_comma`: behind the last line, as
    Python allows and C++ does not.
    """
    line = f"{head}{', '.join(items)}{tail}"
    if indent + len(line) <= _MOST or not items:
        return line
    margin = " " * (indent + 4)
    lines = f",\n{margin}".join(items)
    return f"{head}\n{margin}{lines}{',' if last_comma else ''}\n{' ' * indent}{tail}"


def sentence(text: str, *, indent: int, further: int = 0) -> str:
    """Prose in a docstring whose lines are indented, and those behind the first `further`."""
    margins = " " * indent, " " * (indent + further)
    lines = textwrap.wrap(text, _MOST, initial_indent=margins[0], subsequent_indent=margins[1], break_long_words=False,
                          break_on_hyphens=False)  # fmt: skip
    return "\n".join(lines)


def table(value: dict[str, object] | list[str]) -> str:
    """A table in Python, each row of a dictionary on a line."""
    if isinstance(value, list) or not value:
        return _literal(value)
    rows = "".join(f"    {_literal(key)}: {_literal(item)},\n" for key, item in value.items())
    return f"{{\n{rows}}}"


def _literal(value: object) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_literal(key)}: {_literal(item)}' for key, item in value.items())}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return json.dumps(value)
