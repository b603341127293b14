"""Who may come in: the session cookie, the password beyond localhost, and requests that another site's page sends.

The gate stands before every request, of pages, files and websockets alike.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from gridstride.workbench.login import Attempts, TooManyAttempts, local_path
from gridstride.workbench.login_page import login_page

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SESSION = "gridstride.session"
"""The key in a request's scope under which pages find the session's name."""
_COOKIE = "gridstride_session"
_DAYS = 30  # that a browser keeps it
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_HEADERS = (
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with none at all, a browser hides the origin of a login, too
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Of every answer that has none of its own: no other site's page shows, embeds or reads one of these."""
_ANOTHER_SITE = "this request came from another site's page"
_MOST_BODY = 4096  # bytes of a login


@dataclass(slots=True)
class Gate:
    """An ASGI application around another one. `hashed`: the password's hash; None where none is needed."""

    app: App
    secret: str
    hashed: str | None
    hosts: frozenset[str] | None = LOCAL
    """Names under which this server is asked for; None for any, which is safe where a password is needed."""
    _attempts: Attempts = field(default_factory=Attempts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse one connection."""
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        send = _guarded(send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if why := self._foreign(scope, headers):
            return await _refuse(scope, send, 403, why)
        if scope["path"] == "/login" and scope["type"] == "http":
            return await self._login(scope, receive, send)
        session = self._session(headers)
        if session is None and self.hashed is not None:
            if scope["type"] == "http" and "text/html" in headers.get("accept", ""):
                return await _redirect(send, f"/login?to={quote(scope['path'])}")
            return await _refuse(scope, send, 401, "log in first")
        fresh = session is None
        scope[SESSION] = session or secrets.token_urlsafe(16)
        await self.app(scope, receive, self._with_cookie(send, scope[SESSION]) if fresh else send)
        return None

    def _foreign(self, scope: Scope, headers: Mapping[str, str]) -> str:
        """Why a request is of another site's making: a name that leads here by DNS, or a page's script, form or frame.

        A browser names the page's origin where a script or a form asks, and says whether it is this site's. Of another
        site it may follow a link, and nothing else.
        """
        host = headers.get("host", "")
        name = _parts(f"//{host}").hostname or ""
        if self.hosts is not None and name not in self.hosts:
            return f"this workbench is not {name!r}: open it by the address that gridstride up names"
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None and _parts(origin).netloc != host:
            return _ANOTHER_SITE
        return _ANOTHER_SITE if site not in ("none", "same-origin") and not _follows_a_link(scope, headers) else ""

    def _session(self, headers: Mapping[str, str]) -> str | None:
        """The session's name; None without a cookie that this server signed for the password of now."""
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(_COOKIE)
        except CookieError:
            return None
        name, _, signature = (morsel.value if morsel else "").partition(".")
        return name if name and hmac.compare_digest(signature.encode(), self._signature(name).encode()) else None

    def _signature(self, name: str) -> str:
        return hmac.new(self.secret.encode(), f"{name} {self.hashed}".encode(), hashlib.sha256).hexdigest()

    def _cookie(self, name: str) -> bytes:
        value = f"{_COOKIE}={name}.{self._signature(name)}"
        return f"{value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={_DAYS * 86400}".encode()

    def _with_cookie(self, send: Send, name: str) -> Send:
        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] in ("http.response.start", "websocket.accept"):
                message["headers"] = [*message.get("headers", ()), (b"set-cookie", self._cookie(name))]
            await send(message)

        return sending

    async def _login(self, scope: Scope, receive: Receive, send: Send) -> None:
        to = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("to", ["/"])[0]
        to = local_path(to)
        if self.hashed is None:
            return await _redirect(send, to)
        if scope["method"] != "POST":
            return await _page(send, 200, login_page())
        form = parse_qs((await _body(receive)).decode("utf-8", "replace"), keep_blank_values=True)
        address = (scope.get("client") or ("",))[0]
        try:
            right = await self._attempts.matches(address, form.get("password", [""])[0], self.hashed)
        except TooManyAttempts as error:
            return await _page(send, 429, login_page(str(error)))
        if not right:
            return await _page(send, 401, login_page("That is not the password."))
        await _redirect(send, to, self._cookie(secrets.token_urlsafe(16)))
        return None


def _guarded(send: Send) -> Send:
    """Answers with the headers that all have, and without those that let other sites read them."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = [
                header for header in message.get("headers", ()) if not header[0].lower().startswith(b"access-control-")
            ]
            own_names = {name.lower() for name, _ in own}
            message["headers"] = own + [header for header in _HEADERS if header[0] not in own_names]
        await send(message)

    return sending


def _follows_a_link(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Whether a browser opens a page in a window of its own."""
    fetch = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
    return scope["type"] == "http" and scope["method"] == "GET" and fetch == ("navigate", "document")


def _parts(url: str) -> SplitResult:
    """Of a URL; empty ones where it is none."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


async def _body(receive: Receive) -> bytes:
    data, more = b"", True
    while more and len(data) <= _MOST_BODY:
        message = await receive()
        data += message.get("body", b"")
        more = message.get("more_body", False)
    return data[:_MOST_BODY]


async def _page(send: Send, status: int, text: str) -> None:
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


async def _redirect(send: Send, to: str, cookie: bytes | None = None) -> None:
    headers = [(b"location", to.encode()), (b"cache-control", b"no-store")]
    headers += [(b"set-cookie", cookie)] if cookie else []
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _refuse(scope: Scope, send: Send, status: int, why: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": why})
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{why}\n".encode()})
