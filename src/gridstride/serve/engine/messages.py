"""What passes between an engine and its clients, in one process or between two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from gridstride.serve.engine.batch import TokenLogprobs
from gridstride.serve.engine.sampling import Sampling

Finish = Literal["stop", "length", "abort", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """A request. `arrived` is time.monotonic() of the client's process."""

    id: str
    prompt: tuple[int, ...]
    sampling: Sampling
    arrived: float
    adapter: int = 0  # of the runner's, from 1 on; 0: the model as it is


@dataclass(frozen=True, slots=True)
class Abort:
    """The client wants no more of it; for an unknown or ended request nothing happens."""

    id: str


@dataclass(slots=True)  # one for every request of every step: to make a frozen one, or one by names, takes long
class Update:
    """New tokens of a request; the last one of a request, and only that, has `finish`."""

    id: str
    tokens: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprobs, ...] | None = None
    finish: Finish | None = None
    error: str | None = None  # with finish "error": what went wrong, for the client
    field: str | None = None  # with an error that is the request's own: which of its fields is at fault
    cached_tokens: int = 0  # of the prompt, taken from other requests' blocks
    queued_seconds: float | None = None  # in the first update: arrival to first schedule
    # in the first update after the prompt, where asked for
    prompt_logprobs: tuple[TokenLogprobs, ...] | None = None  # of its tokens but the first
    embedding: bytes | None = None  # [width] in float32


def joined(updates: Sequence[Update]) -> Update:
    """Of one request, in their order: as one, as if the tokens had come together."""
    if len(updates) == 1:
        return updates[0]
    first, last = updates[0], updates[-1]
    logprobs = [update.logprobs for update in updates]
    return Update(
        id=first.id,
        tokens=tuple(chain.from_iterable(update.tokens for update in updates)),
        logprobs=tuple(chain.from_iterable(entries or () for entries in logprobs)) if any(logprobs) else None,
        finish=last.finish,
        error=last.error,
        field=last.field,
        cached_tokens=max(update.cached_tokens for update in updates),
        queued_seconds=next((u.queued_seconds for u in updates if u.queued_seconds is not None), None),
        prompt_logprobs=next((u.prompt_logprobs for u in updates if u.prompt_logprobs is not None), None),
        embedding=next((u.embedding for u in updates if u.embedding is not None), None),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The engine after a step."""

    running: int
    waiting: int
    blocks_total: int
    blocks_used: int
    blocks_cached: int  # free to take, but still holding a prefix
    slots_wasted: int  # token places in used blocks that hold no token
    preemptions: int  # since the start, as all below
    prefix_queries: int  # tokens looked up
    prefix_hits: int  # tokens found
    steps: int
    native_steps: int  # of them those that ran as machine code of the model's own
    step_tokens: int  # of the last step, computed for prompts or drawn
    drafts: int  # proposals verified, since the start, as both below
    draft_tokens: int  # their tokens
    accepted_tokens: int  # those that were drawn
    accepted_at: tuple[int, ...]  # of them those at each place of a proposal
