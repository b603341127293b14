"""The engine as the server's event loop sees it: requests in, a stream of updates for each, all on one thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gridstride.serve.engine.messages import Abort, Finish, Stats, Submit, Update, joined
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.process.protocol import Accepted, FromEngine, Ready, Rejected, ToEngine

Send = Callable[[list[ToEngine]], None]


class Unavailable(Exception):
    """No engine takes requests now; `retry_after` seconds may help."""

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RequestRefused(ValueError):
    """The engine will never take this request; the message is for the client, `field` what it is about."""

    def __init__(self, message: str, *, field: str | None) -> None:
        super().__init__(message)
        self.field = field


class Lost(Exception):
    """The engine's process ended while the request was with it."""


class EngineObserver(Protocol):
    """Told of what happens, for metrics."""

    def connected(self, ready: Ready) -> None: ...
    def accepted(self, stream: SequenceStream) -> None: ...
    def updated(self, stream: SequenceStream, update: Update, now: float) -> None: ...
    def ended(self, stream: SequenceStream, finish: Finish, now: float) -> None: ...
    def stepped(self, stats: Stats) -> None: ...
    def restarted(self) -> None: ...


@dataclass(frozen=True, slots=True)
class SequenceRequest:
    """A sequence to be continued."""

    id: str
    prompt: tuple[int, ...]
    sampling: Sampling
    choices: int = 1  # of its prompt; 0 for all of them but the first
    adapter: int = 0  # of the engine's; 0: none


class SequenceStream:
    """One sequence that is with the engine, and what has come of it."""

    def __init__(self, sequence: SequenceRequest, arrived: float, change: asyncio.Event) -> None:
        self.id, self.arrived = sequence.id, arrived
        self.prompt_tokens = len(sequence.prompt)
        self.max_tokens, self.choices = sequence.sampling.max_tokens, sequence.choices
        self.scheduled: float | None = None  # time.monotonic(), as the two below
        self.first_token: float | None = None
        self.last_token: float | None = None
        self.accepted = self.ended = False
        self.generated = 0  # tokens
        self.updates: list[Update] = []
        self.failure: Exception | None = None
        self._change = change

    def on_accepted(self) -> None:
        self.accepted = True
        self._change.set()

    def on_update(self, update: Update) -> None:
        self.updates.append(update)
        self._change.set()

    def on_failure(self, failure: Exception) -> None:
        self.failure = failure
        self._change.set()


class RequestGroup:
    """The sequences of one request. What has piled up comes at once: a slow reader holds its tokens and no more."""

    def __init__(self, client: Client, streams: Sequence[SequenceStream], change: asyncio.Event) -> None:
        self.streams = streams
        self._client, self._change = client, change

    async def accepted(self) -> None:
        """Return once the engine has taken all of them; Refused or Lost where it has not."""
        while not all(stream.accepted for stream in self.streams):
            await self._changed()

    async def take(self) -> list[tuple[int, Update]]:
        """What has come since the last call, one update of each sequence that has any, with its place.

        Lost when the engine's process ended before a sequence did.
        """
        while not any(stream.updates for stream in self.streams):
            await self._changed()
        updates = [(index, joined(stream.updates)) for index, stream in enumerate(self.streams) if stream.updates]
        for stream in self.streams:
            stream.updates.clear()
        return updates

    def close(self, index: int, finish: Finish = "abort") -> None:
        """No more is wanted of a sequence: its blocks are given back. For one that has ended nothing happens."""
        self._client.close(self.streams[index], finish)

    def close_all(self) -> None:
        for index in range(len(self.streams)):
            self.close(index)

    async def _changed(self) -> None:
        for stream in self.streams:
            if stream.failure is not None:
                raise stream.failure
        await self._change.wait()
        self._change.clear()


class Client:
    """All requests that are with the engine. A supervisor connects it to a process and tells it when that is gone."""

    def __init__(self, observer: EngineObserver, *, max_queue: int) -> None:
        self.ready: Ready | None = None
        self.last_heard = self.last_progress = time.monotonic()
        self._observer = observer
        self._max_queue = max_queue
        self._send: Send | None = None
        self._streams: dict[str, SequenceStream] = {}

    @property
    def in_flight(self) -> int:
        return len(self._streams)

    @property
    def room(self) -> int:
        """Requests that would be taken now; those that run and those that wait count."""
        return 0 if self.ready is None else self.ready.max_running + self._max_queue - len(self._streams)

    @property
    def most(self) -> int:
        """Requests that an idle engine would take at once."""
        return 0 if self.ready is None else self.ready.max_running + self._max_queue

    def submit(self, sequences: Sequence[SequenceRequest]) -> RequestGroup:
        """All of them, or Unavailable and none."""
        if self._send is None:
            raise Unavailable("The engine is starting: try again shortly.", retry_after=2)
        if len(sequences) > self.room:
            message = f"The server is busy: {self.in_flight} requests run or wait, at most {self.most} may."
            raise Unavailable(message, retry_after=1)
        now = time.monotonic()
        if not self._streams:
            self.last_progress = now
        change = asyncio.Event()
        streams = [SequenceStream(sequence, now, change) for sequence in sequences]
        self._streams.update((stream.id, stream) for stream in streams)
        self._send(
            [Submit(id=w.id, prompt=w.prompt, sampling=w.sampling, arrived=now, adapter=w.adapter) for w in sequences]
        )
        return RequestGroup(self, streams, change)

    def close(self, stream: SequenceStream, finish: Finish) -> None:
        if self._streams.pop(stream.id, None) is None:
            return
        if self._send is not None:
            self._send([Abort(stream.id)])
        self._end(stream, finish)

    def connect(self, ready: Ready, send: Send) -> None:
        self.ready, self._send = ready, send
        self._observer.connected(ready)
        self.last_heard = self.last_progress = time.monotonic()

    def disconnect(self, reason: str) -> None:
        """The process is gone, and with it every request that it had."""
        self._send = None
        lost, self._streams = self._streams, {}
        for stream in lost.values():
            self._end(stream, "error")
            stream.on_failure(Lost(reason))

    def deliver(self, messages: Iterable[FromEngine]) -> None:
        """Hand out what one step gave."""
        now = self.last_heard = time.monotonic()
        for message in messages:
            if isinstance(message, Stats):
                self._observer.stepped(message)
            elif isinstance(message, Update | Accepted | Rejected):
                stream = self._streams.get(message.id)  # None: closed while the message was on its way
                if stream is not None:
                    self._hand(stream, message, now)

    def _hand(self, stream: SequenceStream, message: Update | Accepted | Rejected, now: float) -> None:
        if isinstance(message, Accepted):
            self._observer.accepted(stream)
            stream.on_accepted()
        elif isinstance(message, Rejected):
            del self._streams[stream.id]
            stream.ended = True
            stream.on_failure(RequestRefused(message.message, field=message.field))
        else:
            self._update(stream, message, now)

    def _update(self, stream: SequenceStream, update: Update, now: float) -> None:
        if update.queued_seconds is not None:
            stream.scheduled = stream.arrived + update.queued_seconds
        self._observer.updated(stream, update, now)
        if update.tokens:
            stream.first_token = stream.first_token or now
            stream.last_token = self.last_progress = now
        stream.on_update(update)
        if update.finish is not None:
            del self._streams[stream.id]
            self._end(stream, update.finish)

    def _end(self, stream: SequenceStream, finish: Finish) -> None:
        stream.ended = True
        self._observer.ended(stream, finish, time.monotonic())
