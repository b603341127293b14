"""`/v1/completions`: text goes on, for one prompt or many."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.responses import Response
from starlette.types import Receive

from gridstride.serve.client.output import TextDelta
from gridstride.serve.http import logprobs
from gridstride.serve.http.connections.disconnect import unless_gone
from gridstride.serve.http.endpoint import Endpoint
from gridstride.serve.http.errors import ApiError
from gridstride.serve.http.generation import DetokenizerOptions, FieldNames, Generation, NoTokens, joined
from gridstride.serve.http.identifiers import new_id
from gridstride.serve.http.requests.generate import CompletionRequest
from gridstride.serve.http.sampling import SequenceOptions, ServedModel, binding_field, schema_of, sequences
from gridstride.serve.http.sse import Event, Events, EventStream, EventTemplate
from gridstride.serve.http.state import Server

_MAX_TOKENS = 16  # OpenAI's default


async def completions(server: Server, body: CompletionRequest, receive: Receive) -> Response | dict[str, Any]:
    """How the prompts go on, whole or as events."""
    server.check_model(body.model)
    _check(body, server)
    if not body.stream:
        return await unless_gone(receive, _complete_response(server, body))
    return EventStream(_streamed(server, body), patience=server.settings.write_timeout)


ENDPOINTS = (Endpoint("/v1/completions", CompletionRequest, completions),)


async def _streamed(server: Server, body: CompletionRequest) -> tuple[Events, Callable[[], None]]:
    generation, prompts = await _begin(server, body)
    return _Answer(server, body, prompts).chunks(generation), generation.close


async def _complete_response(server: Server, body: CompletionRequest) -> dict[str, Any]:
    generation, prompts = await _begin(server, body)
    try:
        return await _Answer(server, body, prompts).complete(generation)
    finally:
        generation.close()


def _check(body: CompletionRequest, server: Server) -> None:
    """What fits no other field's rule."""
    n = body.n or 1
    if body.best_of is not None and body.best_of < n:
        raise ApiError(f"'best_of' is {body.best_of}, but must be at least 'n', which is {n}.", param="best_of")
    if body.stream and (body.best_of or n) > n:
        raise ApiError("'best_of' above 'n' cannot be streamed: the best is known at the end.", param="best_of")
    if body.echo and body.logprobs is not None and not server.ready.width:
        raise ApiError("'echo' with 'logprobs' is not supported by this engine.", param="echo")


async def _begin(server: Server, body: CompletionRequest) -> tuple[Generation, Prompts]:
    """The generation, and the prompts."""
    prompts = [p if isinstance(p, tuple) else await server.prepare.text(p) for p in body.prompt]
    texts = [p if isinstance(p, str) else await server.prepare.decode(p) for p in body.prompt] if body.echo else []
    per_prompt = body.best_of or body.n or 1
    rank = per_prompt > (body.n or 1)
    requests = sequences(
        new_id(),
        body,
        prompts,
        ServedModel(server.ready, server.adapter(body.model), server.settings.sampling),
        SequenceOptions(
            prompt="prompt",
            max_tokens=_MAX_TOKENS if body.max_tokens is None else body.max_tokens,
            logprobs=0 if body.logprobs is None and rank else body.logprobs,
            schema=schema_of(body, server.ready),
            per_prompt=per_prompt,
            prompt_logprobs=body.logprobs if body.echo else None,
        ),
    )
    tokens = sum(map(len, prompts))
    if body.max_tokens == 0 and not any(sequence.sampling.reads for sequence in requests):
        return NoTokens(len(requests), prompt_tokens=tokens), Prompts(prompts, texts)
    begun = await Generation.begin(
        server,
        requests,
        DetokenizerOptions(body.stop, special=body.skip_special_tokens is False),
        prompt_tokens=tokens,
        fields=FieldNames(many="prompt" if per_prompt == 1 else "n", schema=binding_field(body)),
    )
    return begun, Prompts(prompts, texts)


@dataclass(frozen=True, slots=True)
class Prompts:
    """Of one request; `texts` where they are to be echoed."""

    tokens: Sequence[tuple[int, ...]]
    texts: Sequence[str]


class _Answer:
    """OpenAI's objects for one answer."""

    def __init__(self, server: Server, body: CompletionRequest, prompts: Prompts) -> None:
        self._body, self._prompts = body, prompts
        self._read = bool(body.echo and body.logprobs is not None)  # log-probabilities of the echoes
        self._tokenizer = server.prepare.tokenizer
        self._n = body.n or 1
        self._per_prompt = body.best_of or self._n
        self._head = {
            "id": f"cmpl-{new_id()}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": body.model,
        }

    async def complete(self, generation: Generation) -> dict[str, Any]:
        full = [TextDelta("")] * (len(self._body.prompt) * self._per_prompt)
        async for pieces in generation.pieces():
            for index, piece in pieces.items():
                full[index] = joined(full[index], piece)
        choices: list[dict[str, Any]] = []
        for first in range(0, len(full), self._per_prompt):
            for piece in self._best(full[first : first + self._per_prompt]):
                choices.append(self._choice(len(choices), piece, 0, generation if self._body.echo else None))
                if self._body.prompt_logprobs is not None:
                    prompt = generation.prompts[first]
                    tokens = self._prompts.tokens[first // self._per_prompt]
                    choices[-1]["prompt_logprobs"] = logprobs.of_prompt_by_id(self._tokenizer, tokens, prompt)
        return self._head | {"choices": choices, "usage": generation.usage.body}

    async def chunks(self, generation: Generation) -> AsyncIterator[list[Event]]:
        lengths = [0] * (len(self._body.prompt) * self._n)  # characters of each choice so far
        waiting = set(range(len(lengths))) if self._body.echo else set()
        if waiting and not self._read:
            yield [self._frame([self._choice(i, TextDelta(""), 0, generation)]) for i in sorted(waiting)]
            waiting.clear()
        plain = not waiting and self._body.logprobs is None
        templates = [EventTemplate(partial(self._text_chunk, index)) for index in range(len(lengths))] if plain else []
        async for pieces in generation.pieces():
            chunks: list[Event] = []
            for index, piece in pieces.items():
                if plain and piece.finish is None:
                    if piece.text:
                        chunks.append(templates[index].filled(piece.text))
                    continue
                echo = generation if index in waiting else None
                if echo or piece.text or piece.finish is not None or (piece.tokens and self._body.logprobs is not None):
                    choice = self._choice(index, piece, lengths[index], echo)
                    chunks.append(self._frame([choice]))
                    lengths[index] += len(choice["text"])
                waiting.discard(index)
            yield chunks
        if self._body.wants_usage:
            yield [self._frame([]) | {"usage": generation.usage.body}]

    def _best(self, pieces: list[TextDelta]) -> list[TextDelta]:
        if len(pieces) == self._n:
            return pieces
        return sorted(pieces, key=lambda piece: logprobs.mean(piece.logprobs), reverse=True)[: self._n]

    def _choice(self, index: int, piece: TextDelta, offset: int, echoed: Generation | None) -> dict[str, Any]:
        """With `echoed` the prompt comes first, and what that generation knows of its tokens."""
        echo = "" if echoed is None else self._prompts.texts[index // self._n]
        prefix = logprobs.Prefix()
        if self._read and echoed is not None:
            number = index // self._n
            tokens, prompt_logprobs = (
                self._prompts.tokens[number],
                echoed.prompts[number * self._per_prompt + index % self._n],
            )
            prefix = logprobs.of_prompt(self._tokenizer, tokens, prompt_logprobs, count=self._body.logprobs or 0)
        with_logprobs = self._body.logprobs is not None
        return {
            "index": index,
            "text": echo + piece.text,
            "logprobs": logprobs.of_completion(self._tokenizer, piece, offset=offset, prefix=prefix)
            if with_logprobs
            else None,
            "finish_reason": piece.finish,
        }

    def _text_chunk(self, index: int, text: str) -> dict[str, Any]:
        return self._frame([self._choice(index, TextDelta(text), 0, None)])

    def _frame(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return self._head | {"choices": choices} | ({"usage": None} if self._body.wants_usage else {})
