"""A server's life: it starts, says that it is ready, serves, and ends in good order when told to."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn
import uvloop

from gridstride.models.text.tokenizer import Tokenizer
from gridstride.serve.http.app import application
from gridstride.serve.http.connections.connection import protocol
from gridstride.serve.http.metrics import Metrics
from gridstride.serve.http.prepare import Prepare
from gridstride.serve.http.settings import Settings
from gridstride.serve.http.state import Server
from gridstride.serve.process.child import EngineProcess
from gridstride.serve.process.client import Client
from gridstride.serve.process.protocol import Build
from gridstride.serve.process.supervisor import Supervisor

log = logging.getLogger("gridstride.serve")
_FILES = 1 << 16  # open at most
_KEEP_ALIVE = 75  # seconds that an idle connection stays; longer than clients and balancers keep theirs
_LAST_WORDS = 2.0  # seconds for errors to reach those whose requests are cut off


def run(
    build: Build, tokenizer: Tokenizer, listener: socket.socket, *,
    settings: Settings, max_queue: int, first: EngineProcess, on_ready: Callable[[Server], None],
) -> None:  # fmt: skip
    """Serve until SIGTERM or SIGINT; NoEngine where the engine cannot be made. `first` may be loading already."""
    _allow_connections()
    life = _Life(build, tokenizer, listener, settings=settings, max_queue=max_queue, first=first)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(life.run(on_ready))


def _allow_connections() -> None:
    """A connection takes a file descriptor, of which a shell often allows 1024: those beyond would wait for others to
    close. As many as the system allows, up to a bound that no client needs.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wished = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wished:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wished, hard))


class _Uvicorn(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # they are this file's business


class _Life:
    def __init__(
        self, build: Build, tokenizer: Tokenizer, listener: socket.socket, *,
        settings: Settings, max_queue: int, first: EngineProcess,
    ) -> None:  # fmt: skip
        metrics = Metrics(settings.names[0])
        client = Client(metrics, max_queue=max_queue)
        supervisor = Supervisor(build, client, metrics, first=first)
        self._server = Server(
            settings=settings, client=client, supervisor=supervisor, metrics=metrics,
            prepare=Prepare(tokenizer, settings.chat_template),
            templates={name: Prepare(tokenizer, own) for name, own in settings.adapters.items() if own is not None},
        )  # fmt: skip
        self._listener = listener
        config = uvicorn.Config(
            application(self._server), http=protocol(settings.body_timeout), ws="none", lifespan="off",
            log_config=None, access_log=False, server_header=False, timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=int(_LAST_WORDS),
        )  # fmt: skip
        self._uvicorn = _Uvicorn(config)
        self._stop_requested = asyncio.Event()

    async def run(self, on_ready: Callable[[Server], None]) -> None:
        supervisor = self._server.supervisor
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number)
        supervising = asyncio.create_task(supervisor.run())
        serving = asyncio.create_task(self._uvicorn.serve(sockets=[self._listener]))
        stop_event = asyncio.create_task(self._stop_requested.wait())
        ready = asyncio.create_task(supervisor.first_ready.wait())
        try:
            await _first_of(ready, stop_event, supervising, serving)
            if ready.done():
                on_ready(self._server)
            await _first_of(stop_event, supervising, serving)
            if stop_event.done():
                await self._drain()
            tasks: tuple[asyncio.Task[None], ...] = (supervising, serving)
            for task in tasks:
                if task.done():
                    task.result()  # raises what ended it
        finally:
            await supervisor.stop()
            self._uvicorn.should_exit = True
            await asyncio.gather(serving, return_exceptions=True)
            supervising.cancel()
            stop_event.cancel()
            ready.cancel()
            await asyncio.gather(supervising, stop_event, ready, return_exceptions=True)
            for prepare in (self._server.prepare, *self._server.templates.values()):
                prepare.close()

    async def _drain(self) -> None:
        """Take nothing more; wait for what runs, as long as there is grace."""
        server, grace = self._server, self._server.settings.grace
        server.draining = True
        log.warning("ending: %d requests run, %g s at most; once more to end at once", server.active, grace)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while server.active:
                    await asyncio.sleep(0.02)
        if server.active:
            log.warning("%d requests had not ended after %g s and are cut off", server.active, grace)

    def _on_signal(self, number: int) -> None:
        if self._stop_requested.is_set():
            self._server.supervisor.kill()
            os._exit(128 + number)
        self._stop_requested.set()


async def _first_of(*tasks: asyncio.Task[object]) -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
