"""Chat with a server that speaks OpenAI's protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import httpx

from gridstride.serve.client.conversation import Message

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_CONNECT, _SILENCE = 10.0, 300.0  # seconds


class RemoteError(Exception):
    """The server cannot be asked, or does not answer; in words for the user."""


class TooLong(RemoteError):
    """The conversation does not fit into the model's context."""


class NotNamed(RemoteError):
    """The server does not say which models it has."""


class Remote:
    """One model of one server; `url` with or without its /v1."""

    def __init__(self, url: str, *, model: str | None = None, key: str | None = None) -> None:
        base = url.rstrip("/").removesuffix("/v1")
        try:
            parsed = httpx.URL(base)
        except httpx.InvalidURL as error:
            raise RemoteError(f"{url!r} is no address: {error}") from error
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise RemoteError(f"{url!r} is no address of a server: http://127.0.0.1:8000, say")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        times = httpx.Timeout(_SILENCE, connect=_CONNECT)
        self._url = base
        beyond = parsed.host not in _LOOPBACK  # a proxy of the environment's leads elsewhere
        self._http = httpx.Client(base_url=base, headers=headers, timeout=times, trust_env=beyond)
        self.model = self._model(model)

    def answer(self, messages: Sequence[Message], wishes: dict[str, Any]) -> Generator[str]:
        """Text as it comes; TooLong where the messages do not fit. To stop reading is to stop the answer."""
        body = {"model": self.model, "messages": list(messages), "stream": True, **wishes}
        try:
            with self._http.stream("POST", "/v1/chat/completions", json=body) as response:
                if response.status_code != 200:
                    response.read()
                    raise _refusal(response)
                yield from _texts(response)
        except httpx.TransportError as error:
            raise RemoteError(f"{self._url} is gone: {_reason(error)}") from error

    def close(self) -> None:
        self._http.close()

    def _model(self, name: str | None) -> str:
        """The wanted one, or the first; a server that names its models must have it."""
        try:
            names = self._models()
        except NotNamed:
            if name is None:
                raise
            return name
        if name is not None and name not in names:
            raise RemoteError(f"{self._url} has no model {name!r}; it has {', '.join(names)}")
        return name or names[0]

    def _models(self) -> list[str]:
        try:
            response = self._http.get("/v1/models")
        except httpx.TransportError as error:
            raise RemoteError(f"{self._url} cannot be reached: {_reason(error)}") from error
        if response.status_code == 404:
            raise self._not_named()
        if response.status_code != 200:
            raise _refusal(response)
        try:
            names = [str(model["id"]) for model in response.json()["data"]]
        except (ValueError, LookupError, TypeError) as error:
            raise self._not_named() from error
        if not names:
            raise self._not_named()
        return names

    def _not_named(self) -> NotNamed:
        return NotNamed(f"{self._url}/v1/models names no model; is it an OpenAI-compatible server?")


def _reason(error: httpx.TransportError) -> str:
    """The system's words, as "[Errno 111] Connection refused" without its number."""
    return re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__


def _refusal(response: httpx.Response) -> RemoteError:
    try:
        error = response.json()["error"]
        message, code = str(error["message"]), error.get("code")
    except (ValueError, LookupError, TypeError, AttributeError):
        message, code = response.text[:200], None
    if code == "context_length_exceeded":
        return TooLong(message)
    return RemoteError(f"the server says {response.status_code}: {message}")


def _texts(response: httpx.Response) -> Iterator[str]:
    for line in response.iter_lines():
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data == "[DONE]":
            return
        if data:
            yield _text(data)
    raise RemoteError("the server broke off its answer")


def _text(data: str) -> str:
    try:
        chunk = json.loads(data)
        if "error" in chunk:
            raise RemoteError(f"the server broke off its answer: {chunk['error'].get('message')}")
        return "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise RemoteError(f"the server's answer is malformed: {data[:80]}") from error
