"""What passes between the server's process and the engine's, beside the engine's own messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from gridstride.serve.engine.messages import Abort, Stats, Submit, Update


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """The first message: what makes the engine, "module:function" of keywords, called in the engine's process."""

    factory: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The engine stands; what a client must know to refuse early what can never fit."""

    context: int  # most tokens of one sequence
    blocks: int  # of the whole cache
    block_size: int  # tokens
    vocabulary: int  # ids below it can be embedded
    max_running: int  # sequences at a time
    device: str
    code: str = ""  # what computes its steps: `batch.RunnerCode.name`, and the same in words
    code_words: str = ""
    schemas: bool = False  # whether it can hold a text to a JSON schema
    width: int = 0  # of a prompt's hidden states; 0: it gives nothing of prompts

    @property
    def longest(self) -> int:
        """Tokens that one request may have, prompt and output together; the last one drawn is never in the cache."""
        return min(self.context, self.blocks * self.block_size + 1)


@dataclass(frozen=True, slots=True)
class StartFailed:
    """The engine could not be made; `expected` where the message is for the user and no traceback belongs to it."""

    message: str
    expected: bool


@dataclass(frozen=True, slots=True)
class Accepted:
    """The engine has taken the request: it ends in exactly one update with `finish`."""

    id: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """The engine will not take the request; the message says why and names the limit."""

    id: str
    message: str
    field: str | None = None  # what is wrong with it


@dataclass(frozen=True, slots=True)
class Quit:
    """End the process."""


ToEngine: TypeAlias = Build | Submit | Abort | Quit
FromEngine: TypeAlias = Ready | StartFailed | Accepted | Rejected | Update | Stats
