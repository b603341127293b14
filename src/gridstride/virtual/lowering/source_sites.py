"""Where an instruction stands in the source, as the author of the kernel knows it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gridstride.virtual.ptx.module import Function, Instruction, PtxModule, SourceLocation


@dataclass(slots=True)
class SourceSite:
    """A place in the code that can fault or that is counted."""

    function: str
    name: str
    ptx_line: int
    location: tuple[str, int] | None
    space: str = ""
    bytes: int = 0
    span: int = 0
    called: int = 0  # the line that the function with this place was called from, where it was inlined; else 0
    array: tuple[str, int, int] | None = None  # the shared array that its addresses are made from: name, start, bytes


class SourceLines:
    """Files and lines of a kernel's instructions."""

    def __init__(self, module: PtxModule, entry: Function) -> None:
        self._files = module.files
        self._own_file = next((i.loc.outermost.file for i in entry.instructions if i.loc is not None), 0)
        self._locations_of: dict[str, dict[int, tuple[str, int] | None]] = {}
        """By function, and line of its PTX: the last place in the source up to there."""

    def in_own_file(self, loc: SourceLocation | None) -> tuple[str, int] | None:
        """File and line in the kernel's own file: of code inlined from a header, the line that called it."""
        if loc is None:
            return None
        own = [at for at in loc.chain if at.file == self._own_file] or [loc.outermost]
        return self._files.get(own[0].file, "<unknown>"), own[0].line

    def of(self, function: Function, ins: Instruction) -> tuple[str, int] | None:
        """File and line of an access as its author knows it: of code inlined from a header of their own, the line in
        the header; of one that comes with the compiler, the line that called it. The compiler's "line 0" is no line:
        then it is that of the instruction before.
        """
        where = self._authored(ins.loc)
        if where is not None or ins.loc is None:
            return where
        name = function.name
        if name not in self._locations_of:
            latest, locations = None, {}
            for instruction in function.instructions:
                latest = self._authored(instruction.loc) or latest
                locations[instruction.ptx_line] = latest
            self._locations_of[name] = locations
        return self._locations_of[name].get(ins.ptx_line)

    def _authored(self, loc: SourceLocation | None) -> tuple[str, int] | None:
        written = next(self._written(loc), None)
        return written or (self.in_own_file(loc) if loc is not None and loc.outermost.line else None)

    def caller(self, loc: SourceLocation | None) -> int:
        """The line of the author's from which a function of theirs was called that was inlined."""
        (file, _), *callers = (*self._written(loc),) or (("", 0),)
        return next((line for name, line in callers if name == file), 0)

    def _written(self, loc: SourceLocation | None) -> Iterator[tuple[str, int]]:
        """File and line of those places of an inlined chain that the kernel's author wrote, innermost first."""
        for at in loc.chain if loc is not None else ():
            name = self._files.get(at.file, "<unknown>")
            if at.line and (at.file == self._own_file or _written_by_the_author(name)):
                yield name, at.line


@functools.cache
def _written_by_the_author(file: str) -> bool:
    """False for the compiler's headers, of which some are in its memory alone."""
    return not _SHIPPED.search(file) and Path(file).is_file()


_SHIPPED = re.compile(r"/(?:site|dist)-packages/|/nvidia/|/cuda(?:-[\d.]+)?/(?:targets/[^/]+/)?include/|/gridstride/")
"""Headers that come with the compiler or with a package."""
