"""Keeps an engine process alive: starts it, starts it again with growing pauses, says how it is."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Literal

from gridstride.serve.process.child import EngineProcess
from gridstride.serve.process.client import Client, EngineObserver
from gridstride.serve.process.protocol import Build, Ready, StartFailed

State = Literal["starting", "ready", "restarting", "stopped"]
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds before an engine is started again
_GOOD_LIFE = 60.0  # seconds after which the pauses begin anew
log = logging.getLogger("gridstride.serve")


class NoEngine(Exception):
    """The first engine could not be made. `expected`: the message is all that a user needs."""

    def __init__(self, message: str, *, expected: bool) -> None:
        super().__init__(message)
        self.expected = expected


class Supervisor:
    """One engine process after the other, as long as `run` runs."""

    def __init__(self, build: Build, client: Client, observer: EngineObserver, *, first: EngineProcess) -> None:
        self.state: State = "starting"
        self._build, self._client, self._observer = build, client, observer
        self._child = first
        self._pause = _FIRST_PAUSE
        self._stopping = False
        self.first_ready = asyncio.Event()

    @property
    def pid(self) -> int:
        return self._child.process.pid

    async def run(self) -> None:
        """Return after `stop`; NoEngine when the first engine cannot be made: nothing would mend that."""
        while not self._stopping:
            born = time.monotonic()
            failed = await self._live()
            how = self._child.kill()
            if self._stopping:
                return
            if self.state == "starting":
                raise failed or NoEngine(f"the engine's process {how} before it was ready", expected=False)
            if self.state == "ready":
                self._pause = _FIRST_PAUSE if time.monotonic() - born > _GOOD_LIFE else self._pause
            await self._again(f"the engine's process {how}" if failed is None else str(failed))

    async def stop(self) -> None:
        """End the engine; in good order where it listens already."""
        listens, self.state = self.state == "ready", "stopped"
        self._stopping = True
        if listens:
            await self._child.quit()
        self._child.kill()

    def kill(self) -> None:
        """End the engine at once."""
        self._stopping = True
        self._child.kill()

    async def _live(self) -> NoEngine | None:
        """From the first message of a process to its end."""
        try:
            async for messages in self._child.frames():
                if isinstance(messages[0], StartFailed):
                    return NoEngine(messages[0].message, expected=messages[0].expected)
                if isinstance(messages[0], Ready):
                    self._client.connect(messages[0], self._child.send)
                    self.state = "ready"
                    self.first_ready.set()
                self._client.deliver(messages)
            return None
        finally:
            self._client.disconnect("the engine's process ended while it worked on this request")

    async def _again(self, why: str) -> None:
        """Start the next one; a machine that has no room for a process now may have it later."""
        self.state = "restarting"
        self._observer.restarted()
        started = False
        while not self._stopping and not started:
            log.error("%s; another one starts in %g s", why, self._pause)
            await asyncio.sleep(self._pause)
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            try:
                started = self._stopping or self._start()
            except OSError as error:
                why = f"no process can be started: {error.strerror}"

    def _start(self) -> bool:
        self._child = EngineProcess(self._build)
        return True
