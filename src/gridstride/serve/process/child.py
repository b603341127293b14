"""One life of the engine's process: started, spoken to, ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

from gridstride.serve.process.protocol import Build, Quit, ToEngine
from gridstride.serve.process.wire import HEADER, FrameError, length, packed, unpacked

_END = 5.0  # seconds that an idle engine has to end by itself


class EngineProcess:
    """The process and its socket. It is started at once, so that it loads while the parent gets ready itself."""

    def __init__(self, build: Build) -> None:
        ours, theirs = socket.socketpair()
        arguments = f"{theirs.fileno()}, {os.getpid()}"
        code = f"import sys; sys.path[:] = {sys.path!r}; from {_WORKER} import main; main({arguments})"
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C in a terminal is the parent's business
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._socket = ours
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: list[ToEngine] = []
        with contextlib.suppress(OSError):  # a child that is gone already is noticed by its silence
            ours.sendall(packed([build]))

    async def frames(self) -> AsyncIterator[list[Any]]:
        """What it sends, one list of messages for each step; ends when the process does."""
        self._socket.setblocking(False)
        reader, self._writer = await asyncio.open_connection(sock=self._socket)
        try:
            while True:
                size = length(await reader.readexactly(HEADER.size))
                yield unpacked(await reader.readexactly(size))
        except (asyncio.IncompleteReadError, OSError, FrameError):
            return

    def send(self, messages: list[ToEngine]) -> None:
        """Hand messages over; to a process that is gone nothing happens."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        self._waiting += messages

    def _flush(self) -> None:
        """What requests of one turn of the loop have sent is one frame."""
        messages, self._waiting = self._waiting, []
        if messages and self._writer is not None and not self._writer.is_closing():
            self._writer.write(packed(messages))

    async def quit(self) -> None:
        """Have it end by itself, and end it where it does not."""
        self.send([Quit()])
        self._flush()
        for _ in range(int(_END / 0.02)):
            if self.process.poll() is not None:
                break
            await asyncio.sleep(0.02)
        self.kill()

    def kill(self) -> str:
        """Make sure that it is gone; how it ended, in words."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        if self._writer is not None:
            self._writer.close()
        else:
            self._socket.close()
        return f"was ended by {_signal(-code)}" if code < 0 else f"ended with exit status {code}"


_WORKER = "gridstride.serve.process.worker"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
