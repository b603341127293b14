"""From what a request says to sequences for the engine; what can never fit is refused here, before anything starts."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence

from gridstride.serve.engine.sampling import REQUESTED, Sampling
from gridstride.serve.http.errors import ApiError
from gridstride.serve.http.schemas import ChatRequest, Generate, ResponseFormat
from gridstride.serve.process.client import Wanted
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
    each: int | None = None,
    defaults: Mapping[str, float] | None = None,
) -> list[Wanted]:
    """`each` (else n) sequences of each prompt, in order; `max_tokens` None: as many as fit. `defaults` are of options
    that the request does not give.
    """
    seed = request.seed if request.seed is not None else secrets.randbits(63)
    wanted: list[Wanted] = []
    for prompt in prompts:
        room = _room(prompt, max_tokens, ready, param)
        count = each or request.n or 1
        for choice in range(count):
            sampling = _sampling(request, max_tokens=room, seed=(seed + choice * _STRIDE) % _SEEDS,
                                 logprobs=logprobs, schema=schema, defaults=defaults or {})  # fmt: skip
            wanted.append(Wanted(f"{id}-{len(wanted)}", prompt, sampling, 0 if choice else count))
    return wanted


def chat_max_tokens(request: ChatRequest) -> int | None:
    if request.max_tokens is not None and request.max_completion_tokens is not None:
        message = "'max_tokens' and 'max_completion_tokens' mean the same: give one of them."
        raise ApiError(message, param="max_tokens", code="invalid_value")
    return request.max_completion_tokens or request.max_tokens


def schema_of(request: Generate, format: ResponseFormat | None, ready: Ready) -> str | None:
    """As `Sampling.schema` has it; refused where the engine would write whatever it likes."""
    found = request.structured
    param = "structured_outputs" if found else "response_format"
    if format is not None and format.type != "text":
        found = [*found, "" if format.json_schema is None else json.dumps(format.json_schema.schema_)]
    if len(found) > 1:
        raise ApiError("The text can be bound to one schema, regex, choice or grammar alone.", param=param)
    if found and not ready.schemas:
        what = "structured_outputs" if format is None else f"response_format' of type '{format.type}"
        message = f"Unsupported value: '{what}' is not supported by this engine."
        raise ApiError(message, param=param, code="unsupported_value")
    return found[0] if found else None


def _room(prompt: Sequence[int], max_tokens: int | None, ready: Ready, param: str) -> int:
    if not prompt:
        raise ApiError("The prompt has no token; at least one is needed.", param=param, code="invalid_value")
    if (outside := max(prompt)) >= ready.vocabulary or (outside := min(prompt)) < 0:
        message = f"Token {outside} is none of the model's, which go from 0 to {ready.vocabulary - 1}."
        raise ApiError(message, param=param, code="invalid_value")
    room = ready.longest - len(prompt)
    if room < (max_tokens or 1):
        raise _too_long(len(prompt), max_tokens, ready, param if room < 1 else "max_tokens")
    return max_tokens or room


def _too_long(prompt: int, max_tokens: int | None, ready: Ready, param: str) -> ApiError:
    limit = f"This model's maximum context length is {ready.context} tokens"
    if ready.longest < ready.context:
        limit = f"The cache has room for requests of {ready.longest} tokens"
    asked = f"your prompt has {prompt}" if max_tokens is None else f"you requested {prompt + max_tokens}"
    parts = "" if max_tokens is None else f" ({prompt} in the prompt, {max_tokens} for the completion)"
    return ApiError(f"{limit}, but {asked}{parts}.", param=param, code="context_length_exceeded")


def _sampling(
    request: Generate, *, max_tokens: int, seed: int, logprobs: int | None, schema: str | None,
    defaults: Mapping[str, float],
) -> Sampling:  # fmt: skip
    asked = dict(defaults) | {name: value for name in REQUESTED if (value := getattr(request, name)) is not None}
    stops = frozenset(request.stop_token_ids or ())
    return Sampling.of(**asked, max_tokens=max_tokens, seed=seed, logprobs=logprobs, stop_tokens=stops, schema=schema)
