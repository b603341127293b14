"""`/v1/chat/completions`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

from starlette.responses import Response
from starlette.types import Receive

from gridstride.serve.answers.reader import AnswerReader, ArgumentsDelta, CallBegun, Content, Event, Reasoning
from gridstride.serve.client.output import TextDelta
from gridstride.serve.http import logprobs, sse
from gridstride.serve.http.answering import Answering, answering, blame, offered
from gridstride.serve.http.connections.disconnect import unless_gone
from gridstride.serve.http.endpoint import Endpoint
from gridstride.serve.http.errors import ApiError
from gridstride.serve.http.generation import DetokenizerOptions, FieldNames, Generation, joined
from gridstride.serve.http.identifiers import new_id
from gridstride.serve.http.requests.generate import ChatRequest
from gridstride.serve.http.sampling import SequenceOptions, ServedModel, chat_max_tokens, sequences
from gridstride.serve.http.state import Server


async def chat_completions(server: Server, body: ChatRequest, receive: Receive) -> Response | dict[str, Any]:
    """The answer to a conversation, whole or as events."""
    server.check_model(body.model)
    if not body.stream:
        return await unless_gone(receive, _complete_response(server, body))
    return sse.EventStream(_streamed(server, body), patience=server.settings.write_timeout)


ENDPOINTS = (Endpoint("/v1/chat/completions", ChatRequest, chat_completions),)


async def _streamed(server: Server, body: ChatRequest) -> tuple[sse.Events, Callable[[], None]]:
    generation, how = await begin(server, body)
    return _Answer(server, body, how).chunks(generation), generation.close


async def _complete_response(server: Server, body: ChatRequest) -> dict[str, Any]:
    generation, how = await begin(server, body)
    try:
        return await _Answer(server, body, how).complete(generation)
    finally:
        generation.close()


async def begin(server: Server, body: ChatRequest) -> tuple[Generation, Answering]:
    """The answers' sequences, and how what comes of them is read."""
    prepare = server.prepare_for(body.model)
    tools = offered(body, prepare.manner, server.ready)
    prompt = await prepare.chat(body, tools)
    how = answering(body, prompt, tools, prepare, server.ready)
    requests = sequences(
        new_id(),
        body,
        [prompt.tokens],
        ServedModel(server.ready, server.adapter(body.model), server.settings.sampling),
        SequenceOptions(
            prompt="messages",
            max_tokens=chat_max_tokens(body),
            logprobs=(body.top_logprobs or 0) if body.logprobs else None,
            schema=how.schema,
        ),
    )
    try:
        generation = await Generation.begin(
            server,
            requests,
            DetokenizerOptions(body.stop, special=body.skip_special_tokens is False, shown=how.shown),
            prompt_tokens=len(prompt.tokens),
            fields=FieldNames(schema=how.at_fault),
        )
    except ApiError as error:
        if error.param == "tools":
            await server.prepare.run(partial(blame, error, body, tools))
        raise
    return generation, how


class _Answer:
    """OpenAI's objects for one answer."""

    def __init__(self, server: Server, body: ChatRequest, how: Answering) -> None:
        self._body, self._how = body, how
        self._tokenizer = server.prepare.tokenizer
        self._choices = body.n or 1
        self._readers = [how.reader() for _ in range(self._choices)]
        self._head = {"id": f"chatcmpl-{new_id()}", "created": int(time.time()), "model": body.model}

    async def complete(self, generation: Generation) -> dict[str, Any]:
        full = [TextDelta("")] * self._choices
        async for pieces in generation.pieces():
            for index, piece in pieces.items():
                full[index] = joined(full[index], piece)
        choices = [self._choice(index, piece) for index, piece in enumerate(full)]
        response = self._head | {"object": "chat.completion", "choices": choices, "usage": generation.usage.body}
        if self._body.prompt_logprobs is not None:
            tokens, prompt_logprobs = self._how.prompt, generation.prompts[0]
            response["prompt_logprobs"] = logprobs.of_prompt_by_id(self._tokenizer, tokens, prompt_logprobs)
        return response

    async def chunks(self, generation: Generation) -> AsyncIterator[list[sse.Event]]:
        templates = [sse.EventTemplate(partial(self._text_chunk, index)) for index in range(self._choices)]
        yield [self._chunk(index, {"role": "assistant", "content": ""}) for index in range(self._choices)]
        async for pieces in generation.pieces():
            chunks: list[sse.Event] = []
            for index, piece in pieces.items():
                events = self._readers[index].push(piece.text, last=piece.finish is not None)
                match events:
                    case [Content(text)] if piece.finish is None and not self._body.logprobs:
                        chunks.append(templates[index].filled(text))
                    case _:
                        chunks += self._new(index, piece, events)
            yield chunks
        if self._body.wants_usage:
            yield [self._frame([]) | {"usage": generation.usage.body}]

    def _text_chunk(self, index: int, text: str) -> dict[str, Any]:
        return self._chunk(index, _delta(Content(text)))

    def _new(self, index: int, piece: TextDelta, events: Sequence[Event]) -> list[dict[str, Any]]:
        """What is said and its end come in chunks of their own, as OpenAI's server sends them."""
        deltas = [_delta(event) for event in events]
        if not deltas and self._body.logprobs and piece.tokens:
            deltas = [{"content": ""}]
        chunks = [self._chunk(index, delta, piece=None if number else piece) for number, delta in enumerate(deltas)]
        if piece.finish is not None:
            chunks.append(self._chunk(index, {}, finish=self._finish(self._readers[index], piece)))
        return chunks

    def _choice(self, index: int, piece: TextDelta) -> dict[str, Any]:
        reader = self._readers[index]
        return {
            "index": index,
            "message": message(reader.push(piece.text, last=True)),
            "logprobs": self._logprobs(piece),
            "finish_reason": self._finish(reader, piece),
        }

    def _finish(self, reader: AnswerReader, piece: TextDelta) -> str | None:
        """As OpenAI's server says it: a call that was asked for by its name is no reason to stop. One that a text of
        `stop` has cut is none, too: a client that is told `tool_calls` reads its arguments.
        """
        called = reader.calls and piece.finish == "stop" and not (self._how.named or reader.is_within_a_call)
        return "tool_calls" if called else piece.finish

    def _chunk(
        self, index: int, delta: dict[str, Any], *, piece: TextDelta | None = None, finish: str | None = None
    ) -> dict[str, Any]:
        logprobs = None if piece is None else self._logprobs(piece)
        return self._frame([{"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}])

    def _frame(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        usage = {"usage": None} if self._body.wants_usage else {}
        return self._head | {"object": "chat.completion.chunk", "choices": choices} | usage

    def _logprobs(self, piece: TextDelta) -> dict[str, Any] | None:
        return logprobs.of_chat(self._tokenizer, piece) if self._body.logprobs else None


def message(events: Sequence[Event]) -> dict[str, Any]:
    """A whole answer; `content` is null where nothing is said beside calls."""
    content, thought = (_joined(events, kind) for kind in (Content, Reasoning))
    calls = [
        {"id": begun.id, "type": "function", "function": {"name": begun.name, "arguments": arguments(events, begun)}}
        for begun in events
        if isinstance(begun, CallBegun)
    ]
    body: dict[str, Any] = {
        "role": "assistant",
        "content": content if content or not calls else None,
        "refusal": None,
    }
    return body | ({"reasoning_content": thought} if thought else {}) | ({"tool_calls": calls} if calls else {})


def arguments(events: Sequence[Event], begun: CallBegun) -> str:
    """All of one call's."""
    return "".join(event.text for event in events if isinstance(event, ArgumentsDelta) and event.index == begun.index)


def _joined(events: Sequence[Event], kind: type[Content] | type[Reasoning]) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))


def _delta(event: Event) -> dict[str, Any]:
    match event:
        case Content(text):
            return {"content": text}
        case Reasoning(text):
            return {"reasoning_content": text}
        case CallBegun(index, id, name):
            call = {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
            return {"tool_calls": [call]}
        case ArgumentsDelta(index, text):
            return {"tool_calls": [{"index": index, "function": {"arguments": text}}]}
