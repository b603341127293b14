"""An OpenAI-compatible server, as its streaming users see it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx

from gridstride.serve.load.errors import LoadError, ServerGone
from gridstride.serve.load.prompts import CHARACTERS_PER_TOKEN, CutTokens, PromptSource, TextExcerpts, library_source
from gridstride.serve.load.record import RequestRecord
from gridstride.serve.load.traffic import Planned

_SAMPLE = 40_000  # characters that are tokenised to learn a vocabulary, or to cut prompts from
_TOLD = 200  # characters of an error that are shown
_LINE_AT_MOST = 1 << 24  # bytes
_POOL = 32  # requests at a time: each looks at all connections of its pool
_REST = 1.0  # seconds that an answer has to end behind its last event
_STARTS_WITHIN = 60  # seconds in which a server may say 503 before the load begins
_CLOSED = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)
"""Before an answer begins: a server may close a connection that was idle just when a request goes out on it."""
_CLOSED_AT_MOST = 2  # connections of which that is believed; the third is the server's fault
GONE = "connection"  # the kind of error that a server which is not there gives


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """How requests are made beyond their prompts and lengths."""

    model: str
    chat: bool = False
    temperature: float = 1.0
    ignore_eos: bool = True  # an addition of vLLM's and ours to OpenAI's fields: outputs get the lengths drawn


class LoadTarget:
    """Connections to one server; `url` with or without its /v1."""

    def __init__(self, url: str, *, key: str | None = None, timeout: float = 600.0) -> None:
        base = url.rstrip("/").removesuffix("/v1")
        try:
            parsed = httpx.URL(base)
        except httpx.InvalidURL as error:
            raise LoadError(f"{url!r} is no address: {error}") from error
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise LoadError(f"{url!r} is no address of a server: http://127.0.0.1:8000, say")
        self.url = base
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._times = httpx.Timeout(timeout, connect=min(timeout, 30.0), pool=None)
        self._trust = httpx.create_ssl_context(trust_env=False)  # takes 40 ms, so once
        self._pools: list[httpx.AsyncClient] = []
        self._busy: list[int] = []  # requests of each pool

    async def close(self) -> None:
        for pool in self._pools:
            await pool.aclose()

    @contextmanager
    def _pool(self) -> Iterator[httpx.AsyncClient]:
        """The first that has room, so that few requests at a time find the connections of those before them."""
        pool = next((pool for pool, busy in enumerate(self._busy) if busy < _POOL), len(self._pools))
        if pool == len(self._pools):
            # The environment's proxies and .netrc are not asked: what is measured is this server.
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
            self._pools.append(
                httpx.AsyncClient(
                    base_url=self.url, headers=self._headers, limits=limits, timeout=self._times, trust_env=False,
                    verify=self._trust,
                )
            )  # fmt: skip
            self._busy.append(0)
        self._busy[pool] += 1
        try:
            yield self._pools[pool]
        finally:
            self._busy[pool] -= 1

    async def model(self) -> tuple[str, int | None]:
        """The first model that the server has, and the tokens of its longest request where it says so."""
        answer = await self._ask("GET", "/v1/models")
        models = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(models, list) or not models or not isinstance(models[0], dict) or "id" not in models[0]:
            raise LoadError(f"{self.url}/v1/models names no model; is it an OpenAI-compatible server?")
        longest = models[0].get("max_model_len")  # an addition of vLLM's and ours
        return str(models[0]["id"]), longest if isinstance(longest, int) and longest > 1 else None

    async def prompts(self, wishes: RequestOptions) -> tuple[PromptSource, bool]:
        """Prompts from the standard library, and whether their lengths are exact: so where the server tokenises."""
        text = library_source()
        body = {"model": wishes.model, "prompt": text[:_SAMPLE], "add_special_tokens": False}
        try:
            answer = await self._ask("POST", "/tokenize", body)
            tokens = answer["tokens"]
            if not tokens or not all(type(token) is int for token in tokens):
                raise TypeError
        except (LoadError, LookupError, TypeError):
            return TextExcerpts(text, CHARACTERS_PER_TOKEN), False
        if wishes.chat:
            return TextExcerpts(text, _SAMPLE / len(tokens)), False
        return CutTokens(tokens), True

    async def stream(self, planned: Planned, wishes: RequestOptions, *, due: float) -> RequestRecord:
        """Send a request and read its answer to the end; what goes wrong is in the record."""
        record = RequestRecord(due=due, sent=time.perf_counter())
        try:
            await self._answered(planned, wishes, record)
        except httpx.TimeoutException:
            record.error = "timeout"
        except httpx.ConnectError:
            record.error = GONE
        except httpx.TransportError:
            record.error = "broken stream" if record.chunks else GONE
        except (ValueError, LookupError, TypeError, AttributeError):
            record.error = "malformed answer"
        record.end = record.end or time.perf_counter()
        return record

    async def _answered(self, planned: Planned, wishes: RequestOptions, record: RequestRecord) -> None:
        path = "/v1/chat/completions" if wishes.chat else "/v1/completions"
        for attempt in range(_CLOSED_AT_MOST + 1):
            answered = False
            try:
                with self._pool() as pool:
                    async with pool.stream("POST", path, json=_body(planned, wishes)) as response:
                        answered = True
                        if response.status_code != 200:
                            record.error = f"HTTP {response.status_code}"
                            record.message = _message(await response.aread())
                        else:
                            await _read(response, record)
                        return
            except _CLOSED:
                if answered or attempt == _CLOSED_AT_MOST:
                    raise

    async def _send(self, method: str, path: str, body: dict[str, Any] | None) -> httpx.Response:
        for attempt in range(_CLOSED_AT_MOST + 1):
            try:
                with self._pool() as pool:
                    return await pool.request(method, path, json=body)
            except httpx.TransportError as error:
                if not isinstance(error, _CLOSED) or attempt == _CLOSED_AT_MOST:
                    raise ServerGone(f"{self.url} cannot be reached: {str(error) or type(error).__name__}") from error
        raise AssertionError

    async def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        response = await self._send(method, path, body)
        for _ in range(_STARTS_WITHIN):
            if response.status_code != 503:
                break
            await asyncio.sleep(1.0)
            response = await self._send(method, path, body)
        if response.status_code in (401, 403):
            raise LoadError(f"{self.url} wants a key: {response.status_code} for {path}; give it with --api-key-file")
        if response.status_code != 200:
            raise LoadError(f"{self.url}{path} answers {response.status_code}: {response.text[:200]}")
        try:
            return response.json()
        except ValueError as error:
            raise LoadError(f"{self.url}{path} answers no JSON; is it an OpenAI-compatible server?") from error


def _body(planned: Planned, wishes: RequestOptions) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": wishes.model,
        "max_tokens": planned.max_tokens,
        "temperature": wishes.temperature,
        "seed": planned.seed,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if wishes.ignore_eos:
        body["ignore_eos"] = True
    if wishes.chat:
        return body | {"messages": [{"role": "user", "content": planned.prompt}]}
    return body | {"prompt": list(planned.prompt) if isinstance(planned.prompt, tuple) else planned.prompt}


def _message(body: bytes) -> str:
    """What an error of OpenAI's shape says, or the beginning of any other."""
    try:
        return _error_text(json.loads(body))
    except ValueError:
        return body[:_TOLD].decode(errors="replace")


def _error_text(thing: Any) -> str:
    error = thing.get("error", thing) if isinstance(thing, dict) else thing
    message = error.get("message", error) if isinstance(error, dict) else error
    return str(message)[:_TOLD]


async def _read(response: httpx.Response, record: RequestRecord) -> None:
    events = _events(response)
    async for data in events:
        if data == b"[DONE]":
            record.end = time.perf_counter()
            if not record.counted:
                record.output_tokens = len(record.chunks)
            await _drain(events)
            return
        _note(json.loads(data), record)
        if record.error:
            return
    record.error = "broken stream"  # it ended without saying so


def _note(chunk: dict[str, Any], record: RequestRecord) -> None:
    if "error" in chunk:
        record.error, record.message = "error in stream", _error_text(chunk)
        return
    if usage := chunk.get("usage"):
        record.prompt_tokens, record.output_tokens = int(usage["prompt_tokens"]), int(usage["completion_tokens"])
        record.counted = True
    for choice in chunk.get("choices") or ():
        text = choice["delta"].get("content") if "delta" in choice else choice.get("text")
        if text:
            record.chunks.append(time.perf_counter())
        record.finish = choice.get("finish_reason") or record.finish


async def _drain(events: AsyncIterator[bytes]) -> None:
    """To the answer's end, so that its connection serves the next request; one that does not end is given up."""
    with suppress(TimeoutError, httpx.TransportError):
        async with asyncio.timeout(_REST):
            async for _ in events:
                pass


async def _events(response: httpx.Response) -> AsyncIterator[bytes]:
    """The data of server-sent events, as it comes in."""
    rest = b""
    async for received in response.aiter_bytes():
        *lines, rest = (rest + received).split(b"\n")
        if len(rest) > _LINE_AT_MOST:
            raise ValueError
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].strip()
