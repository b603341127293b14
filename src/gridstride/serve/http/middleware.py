"""Around every request, in this order: whose page asks, its id, whether there is time for it, its key, its size.

Plain ASGI, since Starlette's own base class would hide a client's going away.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gridstride.serve.http.errors import ApiError
from gridstride.serve.http.identifiers import new_id
from gridstride.serve.http.state import Server

_OPEN = frozenset(
    {"/health", "/ping", "/metrics", "/version", "/docs", "/openapi.json"}
)  # need no key and run until the end
_ID_LENGTH = 128
_OTHER = "other"  # paths that are none of ours have one label


def wrapped(app: ASGIApp, server: Server, paths: frozenset[str]) -> ASGIApp:
    """The application as uvicorn gets it."""
    wrapped_app = RequestId(Counted(Keyed(Bounded(app, server), server), server, paths))
    origins = server.settings.origins
    if not origins:
        return wrapped_app
    return CORSMiddleware(
        wrapped_app, origins, allow_methods=("*",), allow_headers=("*",), expose_headers=("X-Request-Id",)
    )


@dataclass(frozen=True, slots=True)
class RequestId:
    """Gives back the client's X-Request-Id, or one of our own; it is in the log beside what goes wrong."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        request_id = _header(scope, b"x-request-id")
        usable = request_id.isascii() and request_id.isprintable() and 0 < len(request_id) <= _ID_LENGTH
        id = scope["request_id"] = request_id if usable else new_id()

        written = id.encode()

        async def with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", written)]
            await send(message)

        return await self.app(scope, receive, with_id)


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts answers, and turns requests away once the server is about to end."""

    app: ASGIApp
    server: Server
    paths: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        path = scope["path"]
        watched = _watched(send, lambda status: self.server.metrics.http(self._label(path), status))
        if path in _OPEN:
            return await self.app(scope, receive, watched)
        if self.server.draining:
            headers = {"Retry-After": "5", "Connection": "close"}
            error = ApiError("The server is about to end.", status=503, code="unavailable", headers=headers)
            return await error.response()(scope, receive, watched)
        self.server.active += 1
        try:
            return await self.app(scope, receive, watched)
        finally:
            self.server.active -= 1

    def _label(self, path: str) -> str:
        return path if path in self.paths else "/v1/models" if path.startswith("/v1/models/") else _OTHER


@dataclass(frozen=True, slots=True)
class Keyed:
    """Asks for an API key where the operator has set one."""

    app: ASGIApp
    server: Server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        keys = self.server.settings.api_keys
        if scope["type"] != "http" or not keys or scope["path"] in _OPEN:
            return await self.app(scope, receive, send)
        scheme, _, key = _header(scope, b"authorization").partition(" ")
        if scheme.lower() == "bearer" and _is_valid_key(key.strip(), keys):
            return await self.app(scope, receive, send)
        message = (
            "Incorrect API key provided." if key else "You didn't provide an API key: send Authorization: Bearer …"
        )
        headers = {"WWW-Authenticate": "Bearer"}
        error = ApiError(message, status=401, code="invalid_api_key", headers=headers)
        return await error.response()(scope, receive, send)


@dataclass(frozen=True, slots=True)
class Bounded:
    """Takes no more of a body than is allowed, whatever its Content-Length says."""

    app: ASGIApp
    server: Server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        limit = self.server.settings.max_body
        announced = _header(scope, b"content-length")
        if announced.isdecimal() and int(announced[:20]) > limit:
            return await _too_large(limit).response()(scope, receive, send)
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit:
                raise _too_large(limit)
            return message

        return await self.app(scope, counted, send)


def _header(scope: Scope, name: bytes) -> str:
    """The first of a name, which is in lower case; "" where there is none."""
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return ""


def _too_large(limit: int) -> ApiError:
    return ApiError(f"The request's body is larger than the {limit} bytes that are taken.", status=413)


def _is_valid_key(key: str, keys: frozenset[str]) -> bool:
    """In a time that says nothing of how much of a key was right."""
    return sum(hmac.compare_digest(key.encode(), valid_key.encode()) for valid_key in keys) > 0


def _watched(send: Send, note: Callable[[int], None]) -> Send:
    async def watch(message: Message) -> None:
        if message["type"] == "http.response.start":
            note(message["status"])
        await send(message)

    return watch
