"""The engine's process: takes messages, steps, sends what came of it; dies with its parent.

A thread reads the socket, so that a parent that is gone is noticed during a step too. Another one writes to it: a
parent that is busy with its users reads late, and the next step need not wait for that.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import queue
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from gridstride.serve.engine.messages import Abort, Stats, Submit, Update
from gridstride.serve.process.protocol import Accepted, Build, FromEngine, Quit, Ready, Rejected, StartFailed, ToEngine
from gridstride.serve.process.wire import HEADER, length, packed, unpacked

BROKEN = 5  # steps in a row that failed for every sequence: a GPU's context that is lost fails until the process is new
BEAT = 1.0  # seconds after which an idle engine says that it lives
_PR_SET_PDEATHSIG = 1
_THREADS = 2  # that prepare requests


class ServedEngine(Protocol):
    """What the process needs of an engine; one thread uses it."""

    failed_steps: int  # in a row, for every sequence

    @property
    def idle(self) -> bool: ...
    def preparation(self, submit: Submit) -> Callable[[], None] | None: ...
    def submit(self, request: Submit) -> None: ...
    def abort(self, id: str) -> None: ...
    def step(self) -> list[Update]: ...
    def stats(self) -> Stats: ...


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request whose preparation is done."""

    submit: Submit


class ParentSocket:
    """The socket to the parent: messages as they come in, frames out."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._inbox: queue.SimpleQueue[ToEngine | PreparedRequest] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[list[FromEngine] | threading.Event] = queue.SimpleQueue()

    def start(self) -> None:
        threading.Thread(target=self._read, name="gridstride-inbox", daemon=True).start()
        threading.Thread(target=self._write, name="gridstride-outbox", daemon=True).start()

    def put(self, message: PreparedRequest) -> None:
        """As if it had come from the parent; any thread may call it."""
        self._inbox.put(message)

    def take(self, *, wait: float) -> list[ToEngine | PreparedRequest]:
        """All that has come; waits up to so many seconds for a first one."""
        messages: list[ToEngine | PreparedRequest] = []
        try:
            messages.append(self._inbox.get(block=wait > 0, timeout=wait or None))
            while True:
                messages.append(self._inbox.get_nowait())
        except queue.Empty:
            return messages

    def send(self, messages: list[FromEngine]) -> None:
        """Queue them; what is queued together goes out in one frame."""
        self._outbox.put(messages)

    def flush(self, *, within: float) -> None:
        """Return when all that was queued is with the parent, or after so many seconds."""
        sent = threading.Event()
        self._outbox.put(sent)
        sent.wait(within)

    def _write(self) -> None:
        try:
            while True:
                waiting = [self._outbox.get()]
                with suppress(queue.Empty):
                    while True:
                        waiting.append(self._outbox.get_nowait())
                messages = [message for item in waiting if isinstance(item, list) for message in item]
                if messages:
                    self._socket.sendall(packed(messages))
                for item in waiting:
                    if isinstance(item, threading.Event):
                        item.set()
        except OSError:  # the parent is gone
            _die()
        except BaseException:
            traceback.print_exc()
            _die()

    def _read(self) -> None:
        try:
            while header := self._exactly(HEADER.size):
                for message in unpacked(self._exactly(length(header))):
                    self._inbox.put(message)
        finally:
            _die()  # whatever it was: nobody can reach the engine any more

    def _exactly(self, count: int) -> bytes:
        data = bytearray(count)
        view = memoryview(data)
        while view:
            got = self._socket.recv_into(view)
            if not got:
                _die()
            view = view[got:]
        return bytes(data)


def main(descriptor: int, parent: int) -> None:
    """Serve the parent over the inherited socket until it says so, or goes away."""
    _die_with(parent)
    _print_on_stderr()
    for number in (signal.SIGINT, signal.SIGTERM):  # meant for the parent, which drains and then says Quit
        signal.signal(number, signal.SIG_IGN)
    os.set_inheritable(descriptor, False)
    link = ParentSocket(socket.socket(fileno=descriptor))
    link.start()
    (first,) = link.take(wait=60.0) or (Quit(),)
    if not isinstance(first, Build):
        return
    built = _built(first)
    if isinstance(built, StartFailed):
        link.send([built])
        link.flush(within=BEAT)
        os._exit(1)
    engine, ready = built
    link.send([ready, engine.stats()])
    _serve(engine, link)


def _serve(engine: ServedEngine, link: ParentSocket) -> NoReturn:
    handling = Handling(engine, link)
    while True:
        replies: list[FromEngine] = []
        for message in link.take(wait=BEAT if engine.idle else 0.0):
            if isinstance(message, Quit):
                os._exit(0)  # no tear-down that a library's thread could hold up
            replies += handling.of(message)
        if not engine.idle:
            replies += engine.step()
        link.send([*replies, engine.stats()])
        if engine.failed_steps >= BROKEN:
            print(f"{BROKEN} steps in a row failed for every sequence: the engine is started anew", file=sys.stderr)
            link.flush(within=BEAT)
            _die()


class Handling:
    """What messages do to the engine. What a request needs that takes long is made beside the steps of the others."""

    def __init__(self, engine: ServedEngine, link: ParentSocket) -> None:
        self._engine, self._link = engine, link
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="gridstride-schemas")
        self._waiting: set[str] = set()  # requests that are being prepared

    def of(self, message: ToEngine | PreparedRequest) -> list[FromEngine]:
        """The replies that go out at once."""
        if isinstance(message, Abort):
            self._waiting.discard(message.id)
            self._engine.abort(message.id)
            return []
        if isinstance(message, PreparedRequest):
            if message.submit.id not in self._waiting:  # given up meanwhile
                return []
            self._waiting.discard(message.submit.id)
            return self._submit(message.submit)
        assert isinstance(message, Submit)
        work = self._engine.preparation(message)
        if work is None:
            return self._submit(message)
        self._waiting.add(message.id)
        self._threads.submit(work).add_done_callback(lambda _: self._link.put(PreparedRequest(message)))
        return []

    def _submit(self, submit: Submit) -> list[FromEngine]:
        try:
            self._engine.submit(submit)
        except ValueError as error:
            return [Rejected(submit.id, str(error), getattr(error, "field", None))]
        return [Accepted(submit.id)]


def _built(build: Build) -> tuple[ServedEngine, Ready] | StartFailed:
    """The engine and what is said of it, or why there is none."""
    module, _, name = build.factory.partition(":")
    try:
        built: Any = getattr(importlib.import_module(module), name)(**build.options)
    except (ValueError, OSError) as error:
        return StartFailed(str(error) or type(error).__name__, expected=True)
    except Exception as error:
        traceback.print_exc()
        return StartFailed(f"{type(error).__name__}: {error}", expected=False)
    engine, ready = built
    return engine, ready


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends in whatever way, even if the engine holds the GIL then."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above
        _die()


def _print_on_stderr() -> None:
    """What models and libraries print is no part of the one object that the parent may have on stdout."""
    os.dup2(2, 1)
    sys.stdout = sys.stderr


def _die() -> NoReturn:
    os._exit(1)
