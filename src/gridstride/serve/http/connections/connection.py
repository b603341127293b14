"""A client's connection: headers that are bounded in time and size.

What is written in one turn of uvloop's loop, as an answer's head and body, is one system call.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gridstride.serve.http.errors import ApiError

_MOST_HEADERS = 1 << 16  # bytes of one request's
_OFFERS = frozenset({b"connection", b"upgrade", b"http2-settings"})
_LINGER = 2.0  # seconds in which a client may read why it was refused: bytes that nobody reads would reset the rest


def _refusal(status: HTTPStatus, message: str) -> bytes:
    body = json.dumps(ApiError(message, status=status).body).encode()
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\nconnection: close\r\ncontent-type: application/json\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body


_LATE = _refusal(HTTPStatus.REQUEST_TIMEOUT, "The request's headers did not come in time.")
_LARGE = _refusal(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    f"The request's URL and headers are larger than {_MOST_HEADERS} bytes.",
)


class _Refused(Exception):
    """Ends the parsing of what has been answered."""


def protocol(seconds: float) -> type[asyncio.Protocol]:
    """What uvicorn makes for each connection; its own waits for the end of headers for ever, this one so long."""

    class Bounded(HttpToolsProtocol):
        _timer: asyncio.TimerHandle | None = None
        _begun = False  # some bytes of headers have come, and not all
        _size = 0  # of these
        _ended = False  # the request was refused: what else comes is thrown away

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._timer = self.loop.call_later(seconds, self._give_up)

        def data_received(self, data: bytes) -> None:
            self._unset_keepalive_if_required()
            if self._ended or self.transport.is_closing():  # what comes behind a request that was none
                return
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                self._decline_upgrade(data[upgrade.args[0] :])
            except httptools.HttpParserError:
                if not self._ended:
                    self.send_400_response("Invalid HTTP request received.")
            if self._begun and not self._ended:
                self._bound(len(data))

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._begun, self._size = True, 0

        def on_headers_complete(self) -> None:
            self._begun = False
            self._stop()
            # all of them may have come at once, and then their end with them
            if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > _MOST_HEADERS:
                self._refuse(_LARGE)
                raise _Refused
            super().on_headers_complete()

        def _should_upgrade(self) -> bool:
            return True  # uvicorn leaves the request alone then

        def _decline_upgrade(self, remaining: bytes) -> None:
            """HTTP/2, as Java's client offers it, is declined by taking the request as if nothing had been offered."""
            if self.scope["method"] == "CONNECT":  # which is nothing but an offer
                self.send_400_response("Invalid HTTP request received.")
                return
            lines = [b"%s: %s" % header for header in self.headers if header[0] not in _OFFERS]
            head = [b"%s %s HTTP/1.1" % (self.scope["method"].encode(), self.url), *lines, b"\r\n"]
            self.parser = httptools.HttpRequestParser(self)
            self.data_received(b"\r\n".join(head) + remaining)

        def _bound(self, size: int) -> None:
            self._size += size
            if self._size > _MOST_HEADERS:
                self._refuse(_LARGE)
            elif self._timer is None:  # the next request of this connection; an idle one is uvicorn's affair
                self._timer = self.loop.call_later(seconds, self._give_up)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _give_up(self) -> None:
            self._refuse(_LATE if self._begun else b"")

        def send_400_response(self, msg: str) -> None:
            self._refuse(_refusal(HTTPStatus.BAD_REQUEST, msg))

        def _refuse(self, answer: bytes) -> None:
            if self._ended or self.transport.is_closing():
                return
            self._ended = True
            self._stop()
            if not answer:
                self.transport.close()
                return
            self.transport.write(answer)
            self.transport.write_eof()
            self.loop.call_later(_LINGER, self.transport.close)

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Bounded
