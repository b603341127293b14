"""A small server that answers as OpenAI's do, well or badly, as a test wishes."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Fake:
    """How it behaves, and what it has seen. Times in seconds."""

    first: float = 0.0  # until the first token
    gap: float = 0.0  # between tokens
    usage: bool = True
    tokenizes: bool = True
    key: str | None = None
    status: int = 200
    code: str | None = None  # of the error, with another status
    fault: str | None = None  # cut, garbage, error, hang, silent
    closes_idle: bool = False  # a connection that had an answer gets no second one
    leaves_after: int | None = None  # requests, then it stops listening
    starting: int = 0  # questions for its models that it answers with 503
    longest: int | None = None  # tokens of a request, as it says
    most_messages: int | None = None  # of a chat; more do not fit
    model: Any = "fake"
    bodies: list[dict[str, Any]] = field(default_factory=list)
    most: int = 0  # requests at a time
    connections: int = 0
    url: str = ""
    running: int = 0
    _server: asyncio.Server | None = None

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        answered = False
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if self.closes_idle and answered:
                    return
                answered = True
                lines = head.decode().split("\r\n")
                method, path, _ = lines[0].split()
                headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if not await self.route(writer, method, path, headers, json.loads(body) if body else {}):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async def route(self, writer: Any, method: str, path: str, headers: dict[str, str], body: dict[str, Any]) -> bool:
        if self.key and headers.get("authorization") != f"bearer {self.key}":
            return send(writer, 401, {"error": {"message": "no"}})
        if (method, path) == ("GET", "/v1/models") and self.starting:
            self.starting -= 1
            return send(writer, 503, {"error": {"message": "starting"}})
        if (method, path) == ("GET", "/v1/models"):
            about = {"id": self.model} | ({"max_model_len": self.longest} if self.longest else {})
            return send(writer, 200, {"data": [about]} if self.model else {"hello": "world"})
        if path == "/tokenize" and self.tokenizes:
            return send(writer, 200, {"tokens": list(range(len(body["prompt"]) // 5))})
        if path not in ("/v1/completions", "/v1/chat/completions"):
            return send(writer, 404, {"error": {"message": "no such path"}})
        return await self.generate(writer, body, chat="chat" in path)

    async def generate(self, writer: Any, body: dict[str, Any], *, chat: bool) -> bool:
        if self.leaves_after is not None and len(self.bodies) >= self.leaves_after:
            assert self._server is not None
            self._server.close()
            return False
        self.bodies.append(body)
        if self.status != 200:
            return send(writer, self.status, {"error": {"message": "busy", "code": self.code}})
        if self.most_messages is not None and len(body.get("messages", ())) > self.most_messages:
            return send(writer, 400, {"error": {"message": "too long", "code": "context_length_exceeded"}})
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await self.stream(writer, body, chat)
        finally:
            self.running -= 1

    async def stream(self, writer: Any, body: dict[str, Any], chat: bool) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        if chat:
            event(writer, {"choices": [{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}]})
        await asyncio.sleep(self.first)
        for number in range(body["max_tokens"]):
            if number == 1 and self.fault:
                return await self.fail(writer)
            if number:
                await asyncio.sleep(self.gap)
            choice: dict[str, Any] = {"delta": {"content": "x "}} if chat else {"text": "x "}
            event(writer, {"choices": [choice | {"finish_reason": None}]})
            await writer.drain()
        last: dict[str, Any] = {"delta": {}} if chat else {"text": ""}
        event(writer, {"choices": [last | {"finish_reason": "length"}]})
        if self.usage:
            prompt = body.get("prompt", "")
            event(writer, {"choices": [], "usage": {"prompt_tokens": len(prompt), "completion_tokens": number + 1}})
        event(writer, "[DONE]")
        chunk(writer, b"")
        await writer.drain()
        return True

    async def fail(self, writer: Any) -> bool:
        if self.fault == "garbage":
            event(writer, "{not json")
        if self.fault == "error":
            event(writer, {"error": {"message": "the engine is gone"}})
        if self.fault == "silent":  # ends in good order, but says nothing of it
            chunk(writer, b"")
            await writer.drain()
            return True
        if self.fault == "hang":
            await asyncio.sleep(60)
        return False


def send(writer: Any, status: int, thing: dict[str, Any]) -> bool:
    body = json.dumps(thing).encode()
    writer.write(b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n" % (status, len(body)) + body)
    return True


def chunk(writer: Any, data: bytes) -> None:
    writer.write(b"%x\r\n" % len(data) + data + b"\r\n")


def event(writer: Any, thing: Any) -> None:
    text = thing if isinstance(thing, str) else json.dumps(thing)
    chunk(writer, f"data: {text}\n\n".encode())


@contextmanager
def serving(**how: Any) -> Iterator[Fake]:
    """The server in a thread of its own; its `url` says where."""
    fake, ready, loop = Fake(**how), threading.Event(), asyncio.new_event_loop()

    async def start() -> None:
        fake._server = await asyncio.start_server(fake.answer, "127.0.0.1", 0)
        fake.url = f"http://127.0.0.1:{fake._server.sockets[0].getsockname()[1]}"
        ready.set()

    async def stop() -> None:
        assert fake._server is not None
        fake._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(start(), loop)
    ready.wait(30)
    try:
        yield fake
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
