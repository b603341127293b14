"""`/v1/responses`: a chat with items instead of messages. Nothing is stored: a client sends all that was said."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any

from pydantic import ValidationError
from starlette.responses import Response
from starlette.types import Receive

from gridstride.serve.client.output import TextDelta
from gridstride.serve.http.answering import Answering
from gridstride.serve.http.connections.disconnect import unless_gone
from gridstride.serve.http.endpoint import Endpoint
from gridstride.serve.http.endpoints.chat import begin
from gridstride.serve.http.errors import ApiError, as_api_error
from gridstride.serve.http.generation import Generation
from gridstride.serve.http.identifiers import new_id
from gridstride.serve.http.requests.generate import ChatRequest
from gridstride.serve.http.requests.responses import ResponsesRequest
from gridstride.serve.http.response_items import Item, Items
from gridstride.serve.http.sse import Events, EventStream
from gridstride.serve.http.state import Server

_NAMES = (
    (re.compile(r"^tools\[(\d+)\]\.function"), r"tools[\1]"),
    (re.compile(r"\.tool_calls\[\d+\]\.function"), ""),
    (re.compile(r"\.tool_call_id$"), ".call_id"),
    (re.compile(r"^response_format(\.json_schema)?"), "text.format"),
    (re.compile(r"^max_(completion_)?tokens$"), "max_output_tokens"),
)  # fields of a chat that have another name here


async def responses(server: Server, body: ResponsesRequest, receive: Receive) -> Response | Item:
    """The answer, whole or as events."""
    server.check_model(body.model)
    if not body.stream:
        return await unless_gone(receive, _complete_response(server, body))
    return EventStream(_streamed(server, body), patience=server.settings.write_timeout, named=True)


ENDPOINTS = (Endpoint("/v1/responses", ResponsesRequest, responses),)


async def _streamed(server: Server, body: ResponsesRequest) -> tuple[Events, Callable[[], None]]:
    generation, how = await _begin(server, body)
    return _Answer(server, body, how).events(generation), generation.close


async def _complete_response(server: Server, body: ResponsesRequest) -> Item:
    generation, how = await _begin(server, body)
    try:
        return await _Answer(server, body, how).complete(generation)
    finally:
        generation.close()


async def _begin(server: Server, body: ResponsesRequest) -> tuple[Generation, Answering]:
    chat, fields = body.chat()
    try:
        return await begin(server, ChatRequest.model_validate(chat))
    except (ApiError, ValidationError) as error:
        api_error = as_api_error(error)
        assert api_error is not None
        was, api_error.param = api_error.param, _renamed(api_error.param, fields)
        api_error.message = api_error.message.replace(f"'{was}'", f"'{api_error.param}'")
        raise api_error from error


def _renamed(param: str | None, fields: Sequence[str]) -> str | None:
    """The field here that a chat's is."""
    if param is None or param == "messages":
        return "input" if param else None
    for pattern, name in _NAMES:
        param = pattern.sub(name, param)
    return re.sub(r"^messages\[(\d+)\]", lambda match: fields[int(match[1])], param)


class _Answer:
    def __init__(self, server: Server, body: ResponsesRequest, how: Answering) -> None:
        self._body, self._tokenizer = body, server.prepare.tokenizer
        self._reader, self._items = how.reader(), Items()
        self._id, self._created = f"resp_{new_id()}", int(time.time())
        self._number = -1

    async def complete(self, generation: Generation) -> Item:
        status = "completed"
        async for pieces in generation.pieces():
            for piece in pieces.values():
                for _ in self._take(piece):
                    pass
                status = _status(piece)
        return self._response(status, generation)

    async def events(self, generation: Generation) -> AsyncIterator[list[Item]]:
        status = "in_progress"
        begun = self._response(status)
        yield self._numbered([{"type": f"response.{word}", "response": begun} for word in ("created", "in_progress")])
        async for pieces in generation.pieces():
            for piece in pieces.values():
                yield self._numbered(self._take(piece))
                status = _status(piece)
        yield self._numbered([{"type": f"response.{status}", "response": self._response(status, generation)}])

    def _take(self, piece: TextDelta) -> Iterator[Item]:
        yield from self._items.take(self._reader.push(piece.text, last=piece.finish is not None))
        if piece.finish is not None:
            yield from self._items.close(_status(piece))

    def _numbered(self, events: Iterable[Item]) -> list[Item]:
        numbered = []
        for event in events:
            self._number += 1
            numbered.append({**event, "sequence_number": self._number})
        return numbered

    def _response(self, status: str, generation: Generation | None = None) -> Item:
        body = self._body
        return {
            "id": self._id, "object": "response", "created_at": self._created, "status": status, "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
            "instructions": body.instructions, "max_output_tokens": body.max_output_tokens, "model": body.model,
            "output": list(self._items.output), "parallel_tool_calls": body.parallel_tool_calls is not False,
            "previous_response_id": None, "store": False, "temperature": body.temperature, "top_p": body.top_p,
            "text": {"format": {"type": "text"}} if body.text is None else _dumped(body.text), "truncation": "disabled",
            "tool_choice": "auto" if body.tool_choice is None else _dumped(body.tool_choice),
            "tools": [_dumped(tool) for tool in body.tools or ()], "metadata": body.metadata or {}, "user": body.user,
            "usage": None if generation is None else self._usage(generation),
        }  # fmt: skip

    def _usage(self, generation: Generation) -> Item:
        usage = generation.usage
        thoughts = [item["content"][0]["text"] for item in self._items.output if item["type"] == "reasoning"]
        thought = sum(len(self._tokenizer.encode(text, special=False)) for text in thoughts)
        return {
            "input_tokens": usage.prompt,
            "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": usage.prompt - usage.cached},
            "output_tokens": usage.completion,
            "output_tokens_details": {"reasoning_tokens": min(thought, usage.completion)},
            "total_tokens": usage.prompt + usage.completion,
        }


def _status(piece: TextDelta) -> str:
    return {"length": "incomplete", "stop": "completed"}.get(piece.finish or "", "in_progress")


def _dumped(value: Any) -> Any:
    return value if isinstance(value, str) else value.model_dump(by_alias=True, exclude_none=True)
