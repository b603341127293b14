"""A program on a terminal, as a user has it before them."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from types import TracebackType
from typing import Self

_PATIENCE = 90.0  # seconds, on a machine that does much else


class Terminal:
    """Type into it, and wait for what it shows."""

    def __init__(self, *words: str, cwd: str | os.PathLike[str] | None = None) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gridstride", *words], stdin=slave, stdout=slave, stderr=slave, cwd=cwd,
            start_new_session=True, env=os.environ | {"TERM": "dumb"},
        )  # fmt: skip
        os.close(slave)
        self.shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C; the terminal of a session leader's own would send the same."""
        self.process.send_signal(signal.SIGINT)

    def until(self, pattern: str) -> str:
        """What is shown up to the pattern's end; it is not looked at again."""
        deadline = time.monotonic() + _PATIENCE
        while (found := re.search(pattern, self.shown)) is None:
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.shown!r}"
            if select.select([self._master], [], [], 0.5)[0]:
                self.shown += self._read()
        text, self.shown = self.shown[: found.end()], self.shown[found.end() :]
        return text

    def end(self) -> int:
        """The exit code."""
        return self.process.wait(_PATIENCE)

    def _read(self) -> str:
        try:
            return os.read(self._master, 1 << 16).decode(errors="replace").replace("\r\n", "\n")
        except OSError as error:  # how Linux says that nobody writes any more
            raise AssertionError(f"it ended after {self.shown!r}") from error
