"""What a launch printed: the records of its output buffer as text, in the order of blocks, then warps, then time."""

from __future__ import annotations

import struct
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gridstride.virtual.abi.output_records import ASSERTED, OUTPUT, PRINTED
from gridstride.virtual.machine.memory.printf import rendered

Array = np.ndarray[Any, Any]
_HEAD = struct.Struct("<iiqiiii")
assert _HEAD.size == OUTPUT.size, "OUTPUT has changed"
OF_STOPPED = 1000
"""Records that are shown of a launch that was stopped: one that prints without end has filled the buffer."""


class SupportsWrite(Protocol):
    """What a launch prints to."""

    def write(self, text: str, /) -> object:
        """All of it."""


@dataclass(frozen=True, slots=True)
class OutputRecord:
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


class PrintfBuffer:
    """A buffer of `size` bytes that a launch's printf and assert fill; text that does not fit is lost."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.to: SupportsWrite | None = None
        """Where text goes; to sys.stdout where this is None."""
        self._memory = np.zeros(size + OUTPUT.size, np.uint8)
        self.address = self._memory.ctypes.data
        self._used = 0

    def clear(self) -> None:
        """Forget the launch before: where a record had no room, no head may stand that is an older one's."""
        self._memory[: self._used] = 0
        self._used = 0

    def records(self, launch: Any) -> list[OutputRecord]:
        """All records of a launch, ordered by block and warp."""
        records = _records(self._memory, min(int(launch["output_used"]), self.size))
        return sorted(records, key=lambda r: (r.block, r.warp))

    def show(self, launch: Any, *, stopped: bool = False) -> None:
        """Writes what a launch printed, the beginning of it where it was stopped, and warns where the
        buffer was too small.
        """
        self._used = min(int(launch["output_used"]), self.size)
        if not self._used:
            return
        printed = [r for r in self.records(launch) if r.kind == PRINTED]
        shown = printed[:OF_STOPPED] if stopped else printed
        text = b"".join(rendered(r.text) for r in shown)
        to = self.to or sys.stdout
        to.write(text.decode("utf-8", "replace"))
        if len(shown) < len(printed):
            to.write(f"… and {len(printed) - len(shown)} more before the launch was stopped\n")
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
                expression, file, function = (
                    t.decode("utf-8", "replace") for t in (r.text + b"\0\0\0").split(b"\0")[:3]
                )
                return Assertion(expression, file, function, r.line)
        return None


def _records(memory: Array, end: int) -> Iterator[OutputRecord]:
    at, raw = 0, memory[:end].tobytes()
    while at + OUTPUT.size <= end:
        size, kind, block, warp, lane, line, _ = _HEAD.unpack_from(raw, at)
        if size < OUTPUT.size or at + size > end:
            return  # reserved, but past the buffer's end: this one and those after it were lost
        yield OutputRecord(kind, block, warp, lane, line, raw[at + OUTPUT.size : at + size])
        at += size
