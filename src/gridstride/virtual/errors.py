"""What the virtual GPU raises before anything runs."""

from __future__ import annotations

import functools
import re
from typing import Any

from gridstride.one_message import OneMessage


class UnsupportedInstruction(OneMessage, ValueError):
    """PTX that parses but asks for something the virtual GPU does not have.

    `opcode`, `ptx_line`, `file` and `line` (of the source, where `.loc` says) tell where.
    """

    def __init__(self, message: str, *, opcode: str, ptx_line: int, file: str | None, line: int | None) -> None:
        super().__init__(message)
        self.opcode, self.ptx_line, self.file, self.line = opcode, ptx_line, file, line

    def __reduce__(self) -> tuple[Any, ...]:
        where = functools.partial(
            type(self), opcode=self.opcode, ptx_line=self.ptx_line, file=self.file, line=self.line
        )
        return (where, self.args)


class UnsupportedTarget(OneMessage, ValueError):
    """PTX written for a chip that the virtual one is not."""


def variable_name(name: str) -> str:
    """The name that the source gives a variable of a function: `_ZZ4scanPKfPfiE1s` is s."""
    local = re.search(r"E(\d+)([A-Za-z_]\w*)$", name) if name.startswith("_ZZ") else None
    return local[2][: int(local[1])] if local else source_name(name)


def source_name(name: str) -> str:
    """The name that the source gives a kernel, where the PTX has a mangled one: `_Z5saxpyifPKfPf` is saxpy."""
    match = re.match(r"_ZN?\d", name)
    parts, at = [], 3 if name.startswith("_ZN") else 2
    while match and (length := re.match(r"\d+", name[at:])):
        start = at + length.end()
        at = start + int(length[0])
        parts.append(name[start:at])
        if not name.startswith("_ZN"):
            break
    return "::".join(parts) or name
