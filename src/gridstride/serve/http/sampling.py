"""From what a request says to sequences for the engine; what can never fit is refused here, before anything starts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gridstride.serve.engine.sampling import REQUESTED, Sampling
from gridstride.serve.http.errors import ApiError
from gridstride.serve.http.identifiers import new_seed
from gridstride.serve.http.requests.generate import BINDING, ChatRequest, Generate
from gridstride.serve.process.client import SequenceRequest
from gridstride.serve.process.protocol import Ready

_SEEDS = 1 << 63
_STRIDE = 0x9E3779B97F4A7C15  # keeps the choices' random numbers apart


@dataclass(frozen=True, slots=True)
class ServedModel:
    """Whom a request asks: the engine, which of its adapters, and the options of a request that does not give them."""

    ready: Ready
    adapter: int = 0
    defaults: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceOptions:
    """What requests of each kind say in fields of their own. `prompt` is the field of the prompts."""

    prompt: str
    max_tokens: int | None
    """None: as many as fit."""
    logprobs: int | None = None
    schema: str | None = None
    per_prompt: int | None = None
    """Sequences of a prompt, else `n`."""
    prompt_logprobs: int | None = None
    """Alternatives to each prompt's tokens, at least."""


def sequences(
    id: str, request: Generate, prompts: Sequence[tuple[int, ...]], model: ServedModel, options: SequenceOptions
) -> list[SequenceRequest]:
    """The sequences of each prompt, in order."""
    seed = request.seed if request.seed is not None else new_seed()
    requests: list[SequenceRequest] = []
    for prompt in prompts:
        room = _room(prompt, options.max_tokens, model.ready, options.prompt)
        count = options.per_prompt or request.n or 1
        for choice in range(count):
            sampling = _sampling(request, options, model.defaults, room, (seed + choice * _STRIDE) % _SEEDS)
            number, group = f"{id}-{len(requests)}", 0 if choice else count
            requests.append(SequenceRequest(number, prompt, sampling, group, model.adapter))
    return requests


def chat_max_tokens(request: ChatRequest) -> int | None:
    if request.max_tokens is not None and request.max_completion_tokens is not None:
        message = "'max_tokens' and 'max_completion_tokens' mean the same: give one of them."
        raise ApiError(message, param="max_tokens", code="invalid_value")
    return request.max_completion_tokens or request.max_tokens


def binding_field(request: Generate) -> str:
    """The field that says what the text must satisfy."""
    set_fields = (name for name in BINDING if getattr(request, name) is not None)
    return next(set_fields, "response_format")


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
    request: Generate, options: SequenceOptions, defaults: Mapping[str, float], max_tokens: int, seed: int
) -> Sampling:
    values = dict(defaults) | {name: value for name in REQUESTED if (value := getattr(request, name)) is not None}
    stops = frozenset(request.stop_token_ids or ())
    if options.prompt_logprobs is not None:
        values["prompt_logprobs"] = max(options.prompt_logprobs, values.get("prompt_logprobs", 0))
    return Sampling.of(**values, max_tokens=max_tokens, seed=seed, logprobs=options.logprobs, stop_tokens=stops,
                       schema=options.schema)  # fmt: skip
