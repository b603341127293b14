"""`/v1/completions`: text goes on, for one prompt or many."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse
from starlette.responses import Response

from gridstride.serve.client.output import Piece
from gridstride.serve.http import logprobs
from gridstride.serve.http.body import documented, parsed
from gridstride.serve.http.disconnect import unless_gone
from gridstride.serve.http.errors import ApiError
from gridstride.serve.http.generation import Generation, NoTokens, joined
from gridstride.serve.http.sampling import schema_of, sequences
from gridstride.serve.http.schemas import CompletionRequest
from gridstride.serve.http.sse import EventStream
from gridstride.serve.http.state import Server, server_of

router = APIRouter()
Body = Annotated[CompletionRequest, Depends(parsed(CompletionRequest))]
_MAX_TOKENS = 16  # OpenAI's default


@router.post("/v1/completions", response_model=None, openapi_extra=documented(CompletionRequest))
async def completions(request: Request, body: Body) -> Response:
    """How the prompts go on, whole or as events."""
    server = server_of(request)
    server.check_model(body.model)
    _check(body)
    generation, prompts = await unless_gone(request.receive, _begin(server, body))
    answer = _Answer(server, body, prompts)
    if body.stream:
        return EventStream(answer.chunks(generation), generation.close, patience=server.settings.write_timeout)
    try:
        return JSONResponse(await unless_gone(request.receive, answer.whole(generation)))
    finally:
        generation.close()


def _check(body: CompletionRequest) -> None:
    """What fits no other field's rule."""
    n = body.n or 1
    if body.best_of is not None and body.best_of < n:
        raise ApiError(f"'best_of' is {body.best_of}, but must be at least 'n', which is {n}.", param="best_of")
    if body.stream and (body.best_of or n) > n:
        raise ApiError("'best_of' above 'n' cannot be streamed: the best is known at the end.", param="best_of")
    if body.echo and body.logprobs is not None:
        raise ApiError("'echo' with 'logprobs' is not supported: prompts get no log-probabilities.", param="echo")


async def _begin(server: Server, body: CompletionRequest) -> tuple[Generation, list[str]]:
    """The generation, and the prompts' texts where they are to be echoed."""
    prompts = [p if isinstance(p, tuple) else await server.prepare.text(p) for p in body.prompt]
    texts = [p if isinstance(p, str) else await server.prepare.decode(p) for p in body.prompt] if body.echo else []
    each = body.best_of or body.n or 1
    rank = each > (body.n or 1)
    wanted = sequences(
        uuid.uuid4().hex,
        body,
        prompts,
        ready=server.ready,
        defaults=server.settings.sampling,
        param="prompt",
        max_tokens=_MAX_TOKENS if body.max_tokens is None else max(body.max_tokens, 1),
        logprobs=0 if body.logprobs is None and rank else body.logprobs,
        schema=schema_of(body, body.response_format, server.ready),
        each=each,
    )
    tokens = sum(map(len, prompts))
    if body.max_tokens == 0:
        return NoTokens(len(wanted), prompt_tokens=tokens), texts
    many = "prompt" if each == 1 else "n"
    special = body.skip_special_tokens is False
    begun = await Generation.begin(server, wanted, stop=body.stop, special=special, prompt_tokens=tokens, many=many)
    return begun, texts


class _Answer:
    """OpenAI's objects for one answer; `echoes` are put before the texts where there are any."""

    def __init__(self, server: Server, body: CompletionRequest, echoes: Sequence[str]) -> None:
        self._body, self._echoes = body, echoes
        self._tokenizer = server.prepare.tokenizer
        self._n = body.n or 1
        self._each = body.best_of or self._n
        self._head = {
            "id": f"cmpl-{uuid.uuid4().hex}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": body.model,
        }

    async def whole(self, generation: Generation) -> dict[str, Any]:
        full = [Piece("")] * (len(self._body.prompt) * self._each)
        async for pieces in generation.pieces():
            for place, piece in pieces.items():
                full[place] = joined(full[place], piece)
        choices: list[dict[str, Any]] = []
        for first in range(0, len(full), self._each):
            for piece in self._best(full[first : first + self._each]):
                choices.append(self._choice(len(choices), self._echo(len(choices)), piece, 0))
        return self._head | {"choices": choices, "usage": generation.usage.body}

    async def chunks(self, generation: Generation) -> AsyncIterator[list[dict[str, Any]]]:
        given = [0] * (len(self._body.prompt) * self._n)  # characters of each choice so far
        if self._echoes:
            yield [self._frame([self._choice(i, self._echo(i), Piece(""), 0)]) for i in range(len(given))]
        async for pieces in generation.pieces():
            chunks = []
            for place, piece in pieces.items():
                if piece.text or piece.finish is not None or (piece.tokens and self._body.logprobs is not None):
                    chunks.append(self._frame([self._choice(place, "", piece, given[place])]))
                given[place] += len(piece.text)
            yield chunks
        if self._body.wants_usage:
            yield [self._frame([]) | {"usage": generation.usage.body}]

    def _best(self, pieces: list[Piece]) -> list[Piece]:
        if len(pieces) == self._n:
            return pieces
        return sorted(pieces, key=lambda piece: logprobs.mean(piece.logprobs), reverse=True)[: self._n]

    def _echo(self, place: int) -> str:
        return self._echoes[place // self._n] if self._echoes else ""

    def _choice(self, place: int, echo: str, piece: Piece, offset: int) -> dict[str, Any]:
        wanted = self._body.logprobs is not None
        return {
            "index": place,
            "text": echo + piece.text,
            "logprobs": logprobs.of_completion(self._tokenizer, piece, offset=offset) if wanted else None,
            "finish_reason": piece.finish,
        }

    def _frame(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return self._head | {"choices": choices} | ({"usage": None} if self._body.wants_usage else {})
