"""`/v1/chat/completions`."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse
from starlette.responses import Response

from gridstride.models.tokenizer import Tokenizer
from gridstride.serve.client.output import Piece
from gridstride.serve.http import logprobs
from gridstride.serve.http.body import documented, parsed
from gridstride.serve.http.disconnect import unless_gone
from gridstride.serve.http.generation import Generation, joined
from gridstride.serve.http.sampling import chat_max_tokens, schema_of, sequences
from gridstride.serve.http.schemas import ChatRequest
from gridstride.serve.http.sse import EventStream
from gridstride.serve.http.state import Server, server_of

router = APIRouter()
Body = Annotated[ChatRequest, Depends(parsed(ChatRequest))]


@router.post("/v1/chat/completions", response_model=None, openapi_extra=documented(ChatRequest))
async def chat_completions(request: Request, body: Body) -> Response:
    """The answer to a conversation, whole or as events."""
    server = server_of(request)
    server.check_model(body.model)
    generation = await unless_gone(request.receive, _begin(server, body))
    answer = _Answer(server, body)
    if body.stream:
        return EventStream(answer.chunks(generation), generation.close, patience=server.settings.write_timeout)
    try:
        return JSONResponse(await unless_gone(request.receive, answer.whole(generation)))
    finally:
        generation.close()


async def _begin(server: Server, body: ChatRequest) -> Generation:
    prompt = await server.prepare.chat(body)
    wanted = sequences(
        uuid.uuid4().hex,
        body,
        [prompt],
        ready=server.ready,
        defaults=server.settings.sampling,
        param="messages",
        max_tokens=chat_max_tokens(body),
        logprobs=(body.top_logprobs or 0) if body.logprobs else None,
        schema=schema_of(body, body.response_format, server.ready),
    )
    return await Generation.begin(
        server, wanted, stop=body.stop, special=body.skip_special_tokens is False, prompt_tokens=len(prompt)
    )


class _Answer:
    """OpenAI's objects for one answer."""

    def __init__(self, server: Server, body: ChatRequest) -> None:
        self._body = body
        self._tokenizer: Tokenizer = server.prepare.tokenizer
        self._choices = body.n or 1
        self._head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": body.model}

    async def whole(self, generation: Generation) -> dict[str, Any]:
        full = [Piece("")] * self._choices
        async for pieces in generation.pieces():
            for place, piece in pieces.items():
                full[place] = joined(full[place], piece)
        choices = [self._choice(place, piece) for place, piece in enumerate(full)]
        return self._head | {"object": "chat.completion", "choices": choices, "usage": generation.usage.body}

    async def chunks(self, generation: Generation) -> AsyncIterator[list[dict[str, Any]]]:
        yield [self._chunk(place, {"role": "assistant", "content": ""}) for place in range(self._choices)]
        async for pieces in generation.pieces():
            yield [chunk for place, piece in pieces.items() for chunk in self._new(place, piece)]
        if self._body.wants_usage:
            yield [self._frame([]) | {"usage": generation.usage.body}]

    def _new(self, place: int, piece: Piece) -> list[dict[str, Any]]:
        """Text and end come in chunks of their own, as OpenAI's server sends them."""
        chunks = []
        if piece.text or (self._body.logprobs and piece.tokens):
            chunks.append(self._chunk(place, {"content": piece.text}, piece=piece))
        if piece.finish is not None:
            chunks.append(self._chunk(place, {}, finish=piece.finish))
        return chunks

    def _choice(self, place: int, piece: Piece) -> dict[str, Any]:
        message = {"role": "assistant", "content": piece.text, "refusal": None}
        return {
            "index": place,
            "message": message,
            "logprobs": self._logprobs(piece),
            "finish_reason": piece.finish,
        }

    def _chunk(
        self, place: int, delta: dict[str, str], *, piece: Piece | None = None, finish: str | None = None
    ) -> dict[str, Any]:
        logprobs = None if piece is None else self._logprobs(piece)
        return self._frame([{"index": place, "delta": delta, "logprobs": logprobs, "finish_reason": finish}])

    def _frame(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        usage = {"usage": None} if self._body.wants_usage else {}
        return self._head | {"object": "chat.completion.chunk", "choices": choices} | usage

    def _logprobs(self, piece: Piece) -> dict[str, Any] | None:
        return logprobs.of_chat(self._tokenizer, piece) if self._body.logprobs else None
