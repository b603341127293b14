"""What an engine refuses at once, because it can never run, with the field and the limit in words."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gridstride.serve.engine.batch import Runner
from gridstride.serve.engine.messages import Submit
from gridstride.serve.engine.sampling import RULES, Sampling


class Refused(ValueError):
    """A request that cannot be accepted: `field` is what is wrong with it, `limit` what would be allowed."""

    def __init__(self, message: str, *, field: str, limit: float | None = None) -> None:
        super().__init__(message)
        self.field, self.limit = field, limit


def check(submit: Submit, runner: Runner) -> None:
    """Refused for a request that this runner can never complete."""
    _check_tokens(submit, runner)
    _check_size(submit, runner)
    if not 0 <= submit.adapter <= runner.adapters:
        have = f"this engine has {runner.adapters}" if runner.adapters else "this engine has none"
        raise Refused(f"there is no adapter {submit.adapter}: {have}", field="model", limit=runner.adapters)
    for field, value, fits, rule in _rules(submit.sampling, runner.vocabulary):
        if not fits:
            raise Refused(f"{field} is {value}, but must be {rule}", field=field)


def _check_tokens(submit: Submit, runner: Runner) -> None:
    if not submit.prompt:
        raise Refused("the prompt has no token; at least 1 is needed", field="prompt", limit=1)
    worst = min(submit.prompt), max(submit.prompt)
    if worst[0] < 0 or worst[1] >= runner.vocabulary:
        token = worst[0] if worst[0] < 0 else worst[1]
        raise Refused(
            f"the prompt has token {token}, but the vocabulary ends at {runner.vocabulary - 1}",
            field="prompt",
            limit=runner.vocabulary - 1,
        )


def _check_size(submit: Submit, runner: Runner) -> None:
    prompt, wished = len(submit.prompt), submit.sampling.max_tokens
    if wished < (0 if submit.sampling.reads else 1):
        raise Refused(f"max_tokens is {wished}, but must be at least 1", field="max_tokens", limit=1)
    if submit.sampling.min_tokens > wished:
        least = submit.sampling.min_tokens
        raise Refused(f"min_tokens is {least}, but max_tokens is {wished}", field="min_tokens", limit=wished)
    if submit.sampling.reads and not runner.width:
        raise Refused("this engine gives nothing of prompts but what follows them", field="prompt_logprobs")
    request_text = f"a prompt of {prompt} tokens and max_tokens={wished} make {prompt + wished} tokens"
    at_fault = "prompt" if prompt >= runner.context else "max_tokens"
    if prompt + wished > runner.context:
        limit = runner.context
        raise Refused(f"{request_text}, but the model's context is {limit}", field=at_fault, limit=limit)
    room = runner.blocks * runner.block_size
    if prompt + wished - 1 > room:  # the last token drawn is never put into the cache
        at_fault = "prompt" if prompt >= room else "max_tokens"
        raise Refused(f"{request_text}, but the cache has room for {room + 1}", field=at_fault, limit=room + 1)


def _rules(s: Sampling, vocabulary: int) -> Iterator[tuple[str, object, bool, str]]:
    """Field, value, whether it is allowed, what is."""
    for name, rule in RULES.items():
        if rule.fits is not None:
            value = getattr(s, name)
            yield name, value, rule.fits(value), rule.limit
    for token, bias in s.logit_bias.items():
        yield "logit_bias", token, 0 <= token < vocabulary, f"a token below {vocabulary}"
        yield "logit_bias", bias, math.isfinite(bias), "a finite number"
    for name, count in (("logprobs", s.logprobs), ("prompt_logprobs", s.prompt_logprobs)):
        yield name, count, count is None or 0 <= count <= vocabulary, f"from 0 to {vocabulary}"
