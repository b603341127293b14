"""A client's connection: headers that are bounded in time and size.

What is written in one turn of uvloop's loop, as an answer's head and body, is one system call.
"""

from __future__ import annotations

import asyncio

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MOST_HEADERS = 1 << 16  # bytes of one request's
_OFFERS = frozenset({b"connection", b"upgrade", b"http2-settings"})
_LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def protocol(seconds: float) -> type[asyncio.Protocol]:
    """What uvicorn makes for each connection; its own waits for the end of headers for ever, this one so long."""

    class Bounded(HttpToolsProtocol):
        _timer: asyncio.TimerHandle | None = None
        _begun = False  # some bytes of headers have come, and not all
        _size = 0  # of these

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._timer = self.loop.call_later(seconds, self._give_up)

        def data_received(self, data: bytes) -> None:
            self._unset_keepalive_if_required()
            if self.transport.is_closing():  # what comes behind a request that was none
                return
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                self._decline_upgrade(data[upgrade.args[0] :])
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
            if self._begun:
                self._bound(len(data))

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._begun, self._size = True, 0

        def on_headers_complete(self) -> None:
            self._begun = False
            self._stop()
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

        def _refuse(self, answer: bytes) -> None:
            if not self.transport.is_closing():
                self.transport.write(answer)
                self.transport.close()

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Bounded
