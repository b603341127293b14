"""What a worker prints, taken off its hands and kept up to a bound."""

from __future__ import annotations

import os

_READ = 1 << 18
_AT_ONCE = 64  # reads, so that a worker that prints without end does not keep its judge from looking at the clock


class WorkerOutput:
    """The reading end of a worker's output, which is never waited for."""

    def __init__(self, descriptor: int, most: int) -> None:
        self._descriptor, self._most = descriptor, most
        self._buffer, self._lost = bytearray(), 0
        self._open = True
        os.set_blocking(descriptor, False)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What to wait on for more; nothing once its end has come."""
        return (self._descriptor,) if self._open else ()

    def take(self) -> None:
        """Read what is there."""
        for _ in range(_AT_ONCE if self._open else 0):
            try:
                data = os.read(self._descriptor, _READ)
            except BlockingIOError:
                return
            if not data:
                self._open = False
                return
            room = max(0, self._most - len(self._buffer))
            self._buffer += data[:room]
            self._lost += len(data) - len(data[:room])

    @property
    def lost(self) -> int:
        """Bytes beyond the bound."""
        return self._lost

    def kept(self) -> str:
        """All that was kept, without a note."""
        return self._buffer.decode(errors="replace")

    def taken(self) -> str:
        """All of it since it was asked last, with a note where some was left out."""
        text = self._buffer.decode(errors="replace")
        text += f"\n… and {self._lost} bytes more\n" if self._lost else ""
        self._buffer.clear()
        self._lost = 0
        return text

    def last_line(self) -> str:
        """The last line that was kept."""
        lines = self._buffer.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""
