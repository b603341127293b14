"""Divisions that hardware has no instruction for, found in a kernel's PTX with their source lines.

PTX has one instruction for a division by a number that is not known when the kernel is compiled; machine code takes up
to 20 for one of 32-bit whole numbers (CUDA C++ Best Practices Guide, Division Modulo Operations), some four times as
many for 64 bits, and about 8 for a float quotient that is rounded correctly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_INSTRUCTION = re.compile(r"\s*(?:@!?%\w+\s+)?([a-z]\w*(?:\.\w+(?:::\w+)?)*)\s")
_KINDS = (
    (re.compile(r"(?:div|rem)\.[su](?:16|32)$"), "whole", 20),
    (re.compile(r"(?:div|rem)\.[su]64$"), "long", 80),
    (re.compile(r"div\.rn(?:\.ftz)?\.f32$"), "float", 8),
)


@dataclass(frozen=True, slots=True)
class Division:
    """A source line that divides: `kind` whole, long or float; how many machine instructions its divisions take, and
    how many PTX instructions the line has.
    """

    line: int
    kind: str
    takes: int
    instructions: int


def divisions(ptx: str) -> tuple[Division, ...]:
    """Those of a module, by line of the file that its first location names; each line with its dearest kind."""
    own: str | None = None
    at: int | None = None
    count: dict[int, int] = {}
    by_line: dict[int, dict[str, int]] = {}
    for text in ptx.splitlines():
        if location := _LOC.match(text):
            own = own or location[1]
            at = (int(location[2]) or at) if location[1] == own else None  # line 0 is no line: still the one before
        elif at and (instruction := _INSTRUCTION.match(text)):
            count[at] = count.get(at, 0) + 1
            for pattern, kind, takes in _KINDS:
                if pattern.match(instruction[1]):
                    kinds = by_line.setdefault(at, {})
                    kinds[kind] = kinds.get(kind, 0) + takes
    dearest = {line: max(kinds, key=lambda kind: kinds[kind]) for line, kinds in by_line.items()}
    return tuple(Division(line, kind, by_line[line][kind], count[line]) for line, kind in sorted(dearest.items()))
