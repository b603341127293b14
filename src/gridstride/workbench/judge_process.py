"""A process that judges, seen from the server: asked one thing at a time, started again when it has ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from typing import Any

_LONGEST_MESSAGE = 64 << 20  # bytes of a line: a report has some 200 kB
_TIDYING = 3.0  # seconds in which a process that is to end removes its folders


class JudgeEnded(RuntimeError):
    """The process ended, or was ended, before it answered."""


class JudgeProcess:
    """One worker process; `ask` starts it where there is none."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._leaving: list[Process] = []

    async def ask(self, request: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """The messages of a request, of which the last has no `step`; JudgeEnded."""
        process = self._process or await self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(ConnectionError):  # its end is seen below
            process.stdin.write(json.dumps(request).encode() + b"\n")
            await process.stdin.drain()
        while line := await process.stdout.readline():
            message = json.loads(line)
            yield message
            if "step" not in message:
                return
        code = await process.wait()
        self._process = None
        raise JudgeEnded(f"the judge's process ended ({_ending(code)}): run it again")

    def end(self) -> None:
        """Have it end, with all that it started, and kill it where it does not; the next question starts another."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.terminate()
            self._leaving = [*(process for process in self._leaving if process.returncode is None), process]
            asyncio.get_running_loop().call_later(_TIDYING, _kill, process)

    async def close(self) -> None:
        """Have it end, and wait until it has."""
        self.end()
        for process in self._leaving:
            try:
                await asyncio.wait_for(process.wait(), _TIDYING)
            except TimeoutError:
                _kill(process)
                await process.wait()

    async def _started(self) -> Process:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "gridstride.workbench.worker", stdin=PIPE, stdout=PIPE, stderr=DEVNULL,
            limit=_LONGEST_MESSAGE, start_new_session=True,
        )  # fmt: skip
        return self._process


def _kill(process: Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    return signal.Signals(-code).name if -code in {number.value for number in signal.Signals} else f"signal {-code}"
