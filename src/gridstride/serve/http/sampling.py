"""From what a request says to sequences for the engine; what can never fit is refused here, before anything starts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gridstride.serve.engine.sampling import REQUESTED, Sampling
from gridstride.serve.http.errors import ApiError
from gridstride.serve.http.identifiers import new_seed
from gridstride.serve.http.requests.generate import BINDING, ChatRequest, Generate
from gridstride.serve.process.client import SequenceRequest
from gridstride.serve.process.protocol import Ready

_SEEDS = 1 << 63
_STRIDE = 0x9E3779B97F4A7C15  # keeps the choices' random numbers apart


def sequences(
    id: str,
    request: Generate,
    prompts: Sequence[tuple[int, ...]],
    *,
    ready: Ready,
    param: str,
    max_tokens: int | None,
    logprobs: int | None,
    schema: str | None = None,
    per_prompt: int | None = None,
    prompt_logprobs: int | None = None,
    adapter: int = 0,
    defaults: Mapping[str, float] | None = None,
) -> list[SequenceRequest]:
    """`each` (else n) sequences of each prompt, in order; `max_tokens` None: as many as fit. `defaults` are of options
    that the request does not give. `prompt_logprobs`: alternatives to each prompt's tokens, at least.
    """
    seed = request.seed if request.seed is not None else new_seed()
    requests: list[SequenceRequest] = []
    for prompt in prompts:
        room = _room(prompt, max_tokens, ready, param)
        count = per_prompt or request.n or 1
        for choice in range(count):
            sampling = _sampling(request, max_tokens=room, seed=(seed + choice * _STRIDE) % _SEEDS,
                                 logprobs=logprobs, schema=schema, defaults=defaults or {})  # fmt: skip
            if prompt_logprobs is not None:
                sampling = replace(sampling, prompt_logprobs=max(prompt_logprobs, sampling.prompt_logprobs or 0))
            requests.append(SequenceRequest(f"{id}-{len(requests)}", prompt, sampling, 0 if choice else count, adapter))
    return requests


def chat_max_tokens(request: ChatRequest) -> int | None:
    if request.max_tokens is not None and request.max_completion_tokens is not None:
        message = "'max_tokens' and 'max_completion_tokens' mean the same: give one of them."
        raise ApiError(message, param="max_tokens", code="invalid_value")
    return request.max_completion_tokens or request.max_tokens


def binding_field(request: Generate) -> str:
    """The field that says what the text must satisfy."""
    given = (name for name in BINDING if getattr(request, name) is not None)
    return next(given, "response_format")


def schema_of(request: Generate, ready: Ready) -> str | None:
    """As `Sampling.schema` has it; refused where the engine would write whatever it likes."""
    schemas, format = request.structured, request.response_format
    if format is not None and format.type != "text":
        schemas = [*schemas, "" if format.json_schema is None else json.dumps(format.json_schema.schema_)]
    if len(schemas) > 1:
        message = "The text can be bound to one schema, regex, choice or grammar alone."
        raise ApiError(message, param=binding_field(request))
    if schemas and not ready.schemas:
        what = "structured_outputs" if format is None else f"response_format' of type '{format.type}"
        message = f"Unsupported value: '{what}' is not supported by this engine."
        raise ApiError(message, param=binding_field(request), code="unsupported_value")
    return schemas[0] if schemas else None


def _room(prompt: Sequence[int], max_tokens: int | None, ready: Ready, param: str) -> int:
    if not prompt:
        raise ApiError("The prompt has no token; at least one is needed.", param=param, code="invalid_value")
    if (outside := max(prompt)) >= ready.vocabulary or (outside := min(prompt)) < 0:
        message = f"Token {outside} is none of the model's, which go from 0 to {ready.vocabulary - 1}."
        raise ApiError(message, param=param, code="invalid_value")
    room = ready.longest - len(prompt)
    least = 1 if max_tokens is None else max_tokens
    if room < least:
        raise _too_long(len(prompt), max_tokens, ready, param if room < 1 else "max_tokens")
    return room if max_tokens is None else max_tokens


def _too_long(prompt: int, max_tokens: int | None, ready: Ready, param: str) -> ApiError:
    limit = f"This model's maximum context length is {ready.context} tokens"
    if ready.longest < ready.context:
        limit = f"The cache has room for requests of {ready.longest} tokens"
    request_text = f"your prompt has {prompt}" if max_tokens is None else f"you requested {prompt + max_tokens}"
    parts = "" if max_tokens is None else f" ({prompt} in the prompt, {max_tokens} for the completion)"
    return ApiError(f"{limit}, but {request_text}{parts}.", param=param, code="context_length_exceeded")


def _sampling(
    request: Generate, *, max_tokens: int, seed: int, logprobs: int | None, schema: str | None,
    defaults: Mapping[str, float],
) -> Sampling:  # fmt: skip
    values = dict(defaults) | {name: value for name in REQUESTED if (value := getattr(request, name)) is not None}
    stops = frozenset(request.stop_token_ids or ())
    return Sampling.of(**values, max_tokens=max_tokens, seed=seed, logprobs=logprobs, stop_tokens=stops, schema=schema)
