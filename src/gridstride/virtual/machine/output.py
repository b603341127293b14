"""What a launch printed: the records of its output buffer as text, in the order of blocks, then warps, then time."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.virtual.machine.layout import ASSERTED, OUTPUT, PRINTED
from gridstride.virtual.machine.printf import rendered

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """One printf or failed assertion of one thread."""

    kind: int
    block: int
    warp: int
    lane: int
    line: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Assertion:
    """What __assertfail was told."""

    expression: str
    file: str
    function: str
    line: int


class Output:
    """A buffer of `size` bytes that a launch's printf and assert fill; text that does not fit is lost."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._memory = np.zeros(size + OUTPUT.size, np.uint8)
        self.address = self._memory.ctypes.data

    def records(self, launch: Any) -> list[Record]:
        """All records of a launch, ordered by block and warp."""
        found = _records(self._memory, min(int(launch["output_used"]), self.size))
        return sorted(found, key=lambda r: (r.block, r.warp))

    def show(self, launch: Any) -> None:
        """Writes what a launch printed to sys.stdout, and warns where the buffer was too small."""
        if not launch["output_used"]:
            return
        text = b"".join(rendered(r.text) for r in self.records(launch) if r.kind == PRINTED)
        sys.stdout.write(text.decode("utf-8", "replace"))
        lost = int(launch["output_lost"])
        if lost:
            message = (
                f"{lost} printf calls of the kernel are not shown: the output buffer of {self.size} bytes is full "
                "(VirtualGPU(printf_buffer=…) sets its size)"
            )
            warnings.warn(message, RuntimeWarning, stacklevel=2)

    def assertion(self, launch: Any, block: int, warp: int, lane: int) -> Assertion | None:
        """The assertion that failed in a thread; None where the buffer had no room for it."""
        for r in self.records(launch):
            if (r.kind, r.block, r.warp, r.lane) == (ASSERTED, block, warp, lane):
                expression, file, function = (t.decode("utf-8", "replace") for t in r.text.split(b"\0")[:3])
                return Assertion(expression, file, function, r.line)
        return None


def _records(memory: Array, end: int) -> Iterator[Record]:
    at = 0
    while at + OUTPUT.size <= end:
        head = memory[at : at + OUTPUT.size].view(OUTPUT.dtype())[0]
        size = int(head["size"])
        if at + size > end:
            return  # reserved, but past the buffer's end: this one and those after it were lost
        text = memory[at + OUTPUT.size : at + size].tobytes()
        kind, block, warp, lane, line = (int(head[f]) for f in ("kind", "block", "warp", "lane", "line"))
        yield Record(kind, block, warp, lane, line, text)
        at += size
