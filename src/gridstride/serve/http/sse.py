"""Server-sent events: one JSON object each, then `[DONE]`; an error that comes too late for a status is an event."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gridstride.serve.http.connections.disconnect import unless_gone
from gridstride.serve.http.connections.patience import Patience
from gridstride.serve.http.errors import ClientGone, as_api_error, response_to, unexpected
from gridstride.serve.http.identifiers import new_id

log = logging.getLogger("gridstride.serve")
Event = dict[str, Any] | bytes
"""Bytes: one that is written already, by a `EventTemplate`."""
Events = AsyncIterator[Sequence[Event]]
_encode = json.JSONEncoder(separators=(",", ":")).encode
_HEADERS = (
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
    (b"content-type", b"text/event-stream; charset=utf-8"),
)
_DONE = b"data: [DONE]\n\n"


class EventStream(Response):
    """Sends each list of events as one piece; a reader that takes nothing has `patience` seconds.

    `begin` gives the events, and what is called when it is over, in whatever way: nothing is answered before, so that
    what cannot begin has a status of its own. `named`: each event's type is its name, and nothing comes after the last.
    """

    media_type = "text/event-stream"

    def __init__(
        self, begin: Coroutine[Any, Any, tuple[Events, Callable[[], None]]], *, patience: float, named: bool = False
    ) -> None:
        self.status_code, self.background = 200, None
        self._begin, self._patience, self._named = begin, patience, named

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await unless_gone(receive, self._answer(scope, receive, send))
        except ClientGone:
            pass
        except TimeoutError:
            log.warning("request %s: its reader took nothing for %g s", scope.get("request_id"), self._patience)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            events, close = await self._begin
        except Exception as error:
            await response_to(error, scope)(scope, receive, send)
            return
        try:
            await self._send_all(events, scope, send)
        finally:
            close()

    async def _send_all(self, all_events: Events, scope: Scope, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        async with Patience(self._patience) as patience:
            try:
                async for events in all_events:
                    data = b"".join([e if isinstance(e, bytes) else _event(e, named=self._named) for e in events])
                    if data:
                        patience.begin()
                        await send({"type": "http.response.body", "body": data, "more_body": True})
                        patience.end()
                last = b"" if self._named else _DONE
            except Exception as error:
                body = (as_api_error(error) or unexpected(error, scope)).body
                last = _event({**body["error"], "type": "error"} if self._named else body, named=self._named)
            patience.begin()
            await send({"type": "http.response.body", "body": last, "more_body": False})


class EventTemplate:
    """An event of which one text changes, as it is sent for each token: only that text is written anew."""

    def __init__(self, event: Callable[[str], dict[str, Any]]) -> None:
        self._event = event
        self._head = self._tail = b""

    def filled(self, text: str) -> bytes:
        """The event with this text."""
        if not self._head:
            mark = new_id()
            self._head, _, self._tail = _event(self._event(mark), named=False).partition(json.dumps(mark).encode())
        return self._head + json.dumps(text).encode() + self._tail


def _event(event: dict[str, Any], *, named: bool) -> bytes:
    """In ASCII: many clients split at whatever Unicode calls the end of a line."""
    name = f"event: {event['type']}\n".encode() if named else b""
    return name + b"data: " + _encode(event).encode() + b"\n\n"
