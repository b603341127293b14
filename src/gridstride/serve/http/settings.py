"""What an operator may set of the HTTP side, and the limits that requests are held to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gridstride.models.huggingface.pooling import Pooling

MAX_N = 128  # sequences of one prompt, as OpenAI has it
MAX_STOP = 4  # stop strings, as OpenAI has it
MAX_TOP_LOGPROBS = 20  # of chat; completions give at most 5
MAX_TOOLS = 128  # as OpenAI has it
MAX_INPUTS = 2048  # of embeddings, as OpenAI has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Seconds and bytes."""

    names: tuple[str, ...]  # by which requests may call the model; answers carry the first
    adapters: Mapping[str, str | None] = field(default_factory=dict)  # names in order, each with a template of its own
    sampling: Mapping[str, float] = field(default_factory=dict)  # where requests do not say, by names of `Sampling`
    chat_template: str | None = None  # instead of the folder's
    origins: tuple[str, ...] = ()  # whose pages browsers let ask; "*": all
    api_keys: frozenset[str] = frozenset()  # none: everybody may
    pooling: Pooling = "last"  # what of a text's hidden states is its vector
    max_body: int = 4 << 20
    body_timeout: float = 60.0  # for a request's headers to arrive, and for its body
    write_timeout: float = 60.0  # for a reader that takes nothing
    stall_after: float = 60.0  # without a token while requests run, /health fails
    grace: float = 30.0  # for running requests after SIGTERM
