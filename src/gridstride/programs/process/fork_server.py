"""Processes that begin where Python and the virtual GPU are loaded already: copies of one that does nothing else.

A fresh Python needs a third of a second before a program can begin, a copy a hundredth. The server runs no stranger's
code: each of its copies locks itself in first (`confined_child.py`, `compiler_room.py`), and none is used twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gridstride.compiler.cache import cache_root
from gridstride.judge.sandbox.client import CannotJudge
from gridstride.judge.sandbox.visible import environment

Kind = Literal["program", "compiler"]
LONGEST = 1 << 20
"""Bytes of a request."""
FIRST = 64
"""The number of the first descriptor that a copy has beyond the standard ones: above those that it opens itself."""
STATUS = 4
"""Bytes of an exit status as the server tells it."""


@dataclass(slots=True)
class Child:
    """One copy. `ended` is a descriptor that can be read from when it has ended."""

    pid: int
    ended: int
    _process: int
    """Its descriptor: a number alone may be another process' by now."""
    _returned: int | None = None

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it goes on. CannotJudge where the server has gone."""
        return self._returned if self._returned is not None else self.wait(0.0)

    def wait(self, seconds: float | None = None) -> int | None:
        """The same after at most so many seconds."""
        if self._returned is None and self._is_ready(seconds):
            status = os.read(self.ended, STATUS)
            if len(status) < STATUS:
                raise CannotJudge("no program can be run here: the process that starts them has ended")
            self._returned = int.from_bytes(status, "little", signed=True)
        return self._returned

    def kill(self) -> None:
        """End it, and what it has started; one that has ended stays as it is."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, signal.SIGKILL)

    def close(self) -> None:
        """Give the descriptors back."""
        os.close(self.ended)
        os.close(self._process)

    def _is_ready(self, seconds: float | None) -> bool:
        poll = select.poll()
        poll.register(self.ended, select.POLLIN)
        return bool(poll.poll(None if seconds is None else 1000 * seconds))


class ForkServer:
    """The process that is copied; `scratch` is its home. It ends with this one."""

    def __init__(self, scratch: str) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._one_at_a_time = threading.Lock()
        module = "gridstride.programs.process.fork_server_child"
        code = f"import sys; sys.path[:] = {sys.path!r}; from {module} import main; main()"
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", code, str(theirs.fileno())], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, cwd=scratch, pass_fds=(theirs.fileno(),), start_new_session=True,
                env=environment(scratch, cache=False) | {"GRIDSTRIDE_CACHE": str(cache_root().absolute())},
            )  # fmt: skip

    def warm_up(self) -> None:
        """Have it load the virtual GPU, which goes on when this returns."""
        with self._one_at_a_time, contextlib.suppress(OSError):  # a server that has gone is found by the next start
            self._control.send(b"warm ")

    def start(
        self, kind: Kind, orders: Mapping[str, Any], *, stdout: int, stderr: int, more: Sequence[int] = ()
    ) -> Child:
        """A copy that becomes what is `given`, with these descriptors and no others; those in `more` have there the
        numbers FIRST and up. CannotJudge where the server has gone.
        """
        words = f"{kind} {json.dumps(orders)}".encode()
        exit_end, tells = os.pipe()
        try:
            with self._one_at_a_time:
                socket.send_fds(self._control, [words], [tells, stdout, stderr, *more])
                message, descriptors, _, _ = socket.recv_fds(self._control, LONGEST, 1)
        except OSError as error:
            os.close(exit_end)
            raise CannotJudge(f"no program can be run here: its process could not be started: {error}") from error
        finally:
            os.close(tells)
        if not message:
            os.close(exit_end)
            raise CannotJudge("no program can be run here: the process that starts them has ended")
        return Child(int(message), exit_end, descriptors[0])

    def close(self) -> None:
        """End it, and with it what it has started."""
        self._control.close()
        self._process.kill()
        self._process.wait()
