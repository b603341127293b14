"""Server-sent events: one JSON object each, then `[DONE]`; an error that comes too late for a status is an event."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gridstride.serve.http.disconnect import unless_gone
from gridstride.serve.http.errors import ClientGone, as_api_error, unexpected

log = logging.getLogger("gridstride.serve")
Events = AsyncIterator[list[dict[str, Any]]]
_DONE = b"data: [DONE]\n\n"


class EventStream(Response):
    """Sends each list of events as one piece; a reader that takes nothing has `patience` seconds.

    `named`: each event's type is its name, and nothing comes after the last. `close` is called when it is over, in
    whatever way.
    """

    media_type = "text/event-stream"

    def __init__(self, events: Events, close: Callable[[], None], *, patience: float, named: bool = False) -> None:
        self.status_code, self.background = 200, None
        self.init_headers({"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        self._events, self._close, self._patience, self._named = events, close, patience, named

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await unless_gone(receive, self._send_all(send, scope))
        except ClientGone:
            pass
        except TimeoutError:
            log.warning("request %s: its reader took nothing for %g s", scope.get("request_id"), self._patience)
        finally:
            self._close()

    async def _send_all(self, send: Send, scope: Scope) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            async for events in self._events:
                await self._send(send, b"".join(_event(event, named=self._named) for event in events))
        except TimeoutError:
            raise
        except Exception as error:
            body = (as_api_error(error) or unexpected(error, scope)).body
            body = {**body["error"], "type": "error"} if self._named else body
            await self._send(send, _event(body, named=self._named), last=True)
        else:
            await self._send(send, b"" if self._named else _DONE, last=True)

    async def _send(self, send: Send, data: bytes, *, last: bool = False) -> None:
        if data or last:
            async with asyncio.timeout(self._patience):
                await send({"type": "http.response.body", "body": data, "more_body": not last})


def _event(event: dict[str, Any], *, named: bool) -> bytes:
    """In ASCII: many clients split at whatever Unicode calls the end of a line."""
    name = f"event: {event['type']}\n".encode() if named else b""
    return name + b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"
