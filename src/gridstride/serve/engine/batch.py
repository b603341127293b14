"""One step's work as the scheduler hands it to a runner, and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gridstride.serve.engine.sampling import Sampling

I32: TypeAlias = NDArray[np.int32]
I64: TypeAlias = NDArray[np.int64]


@dataclass(slots=True)  # one for every row of every step: to make a frozen one takes four times as long
class Draw:
    """What one row of logits needs beside them: the request's wishes and what it has said so far."""

    sampling: Sampling
    index: int  # of the token to be drawn within the request's output
    prompt: Sequence[int]
    output: Sequence[int]  # for penalties
    mask: NDArray[np.uint32] | None = None  # [vocabulary / 32, rounded up] bit t % 32 of word t // 32: token t may come

    @property
    def plain(self) -> bool:
        """Whether the token can be drawn where its logits are, without knowing what was said before."""
        return self.mask is None and self.sampling.plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """N new tokens of S sequences in one row; sequence s has rows starts[s] to starts[s + 1].

    A cache slot is block * block_size + offset. `steps` above 1 asks a batch in which every sequence has one new token
    and is sampled to go on by itself: the token drawn is the next one's input, its slot follows from `blocks`, which
    reach far enough.
    """

    tokens: I64  # [N]
    positions: I64  # [N]
    slots: I64  # [N] where keys and values of the tokens go
    starts: I32  # [S + 1]
    lengths: I32  # [S] tokens in the cache when the step is done, new ones included
    blocks: I32  # [S, W] each sequence's blocks in order; unused places 0
    sampled: I32  # [M] rows of N whose next token is wanted
    draws: tuple[Draw, ...]  # [M]
    steps: int = 1


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """Natural logarithms of the probabilities before temperature: of the token drawn and of the likeliest."""

    own: float
    top: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Sampled:
    tokens: I64  # [M, steps]; -1 where the logits were not finite: that request ends with an error, no other
    logprobs: tuple[tuple[TokenLogprobs, ...] | None, ...]  # [M], each [steps] where asked for


class Runner(Protocol):
    """A model with its cache: turns batches into tokens, and knows nothing of requests."""

    block_size: int  # tokens
    blocks: int  # of the whole cache
    context: int  # most tokens of one sequence
    vocabulary: int  # tokens are below it
    steps: int  # most steps in one call
    steps_alone: int  # the same of a batch of one sequence

    # May raise: the engine then gives it the sequences one at a time, and ends those for which it raises again. So a
    # batch that failed half-way must be repeatable: its slots are written again with the same keys and values.
    def execute(self, batch: Batch) -> Sampled: ...
