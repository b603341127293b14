"""One step's work as the scheduler hands it to a runner, and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gridstride.serve.engine.sampling import Sampling

I32: TypeAlias = NDArray[np.int32]
I64: TypeAlias = NDArray[np.int64]
Pool: TypeAlias = Literal["last", "mean"]
Reading: TypeAlias = "tuple[TokenLogprobs, ...] | NDArray[np.float32]"
"""Of R tokens: each one's log-probabilities; or [width] the last hidden state, or the sum of all (pool `mean`)."""


@dataclass(slots=True)  # one for every row of every step: to make a frozen one takes four times as long
class Draw:
    """What one row of logits needs beside them: the request's wishes and what it has said so far."""

    sampling: Sampling
    index: int  # of the token to be drawn within the request's output
    prompt: Sequence[int]
    output: Sequence[int]  # for penalties; tokens under way are not among them
    mask: NDArray[np.uint32] | None = None  # [vocabulary / 32, rounded up] bit t % 32 of word t // 32: token t may come

    @property
    def plain(self) -> bool:
        """Whether the token can be drawn where its logits are, without knowing what was said before."""
        return self.mask is None and self.sampling.plain


@dataclass(frozen=True, slots=True)
class Read:
    """What is wanted of a prompt's tokens beside the next one: log-probabilities of known tokens, or a hidden state."""

    sequence: int  # of the batch
    first: int  # token of the sequence's new ones
    targets: I64 | None  # [R] what follows R tokens from `first` on: how likely it was
    top: int  # alternatives to each
    pool: Pool | None  # of all from `first` on
    count: int  # R


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """N new tokens of S sequences in one row; sequence s has rows starts[s] to starts[s + 1].

    A cache slot is block * block_size + offset. `steps` above 1 asks the sequences that have one new token, which is
    sampled, to go on by themselves: the token drawn is the next one's input, its slot follows from `blocks`, which
    reach far enough. Of other sequences' draws one token is wanted, and -1 stands behind it.
    """

    tokens: I64  # [N]
    positions: I64  # [N]
    slots: I64  # [N] where keys and values of the tokens go
    starts: I32  # [S + 1]
    lengths: I32  # [S] tokens in the cache when the step is done, new ones included
    blocks: I32  # [S, W] each sequence's blocks in order; unused places 0
    sampled: I32  # [M] rows of N whose next token is wanted: a sequence's last one, or several up to there
    draws: tuple[Draw, ...]  # [M]
    steps: int = 1
    reads: tuple[Read, ...] = ()
    adapters: tuple[int, ...] = ()  # [S] each sequence's, 0 for none; () where none has one
    sources: I32 | None = None
    """[S] Of sequences whose one new token is still being drawn by the batch queued before this one: which of its draws
    that is, the last of its steps; -1 where `tokens` has it. None where it has all.
    """


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """Natural logarithms of the probabilities before temperature: of the token drawn and of the likeliest."""

    own: float
    top: tuple[tuple[int, float], ...]
    rank: int = 0  # of `own` among all tokens, the likeliest has 1; 0: not asked for


@dataclass(frozen=True, slots=True)
class Sampled:
    tokens: I64  # [M, steps]; -1 first where the logits were not finite: that request ends with an error, no other
    logprobs: tuple[tuple[TokenLogprobs, ...] | None, ...]  # [M], each [steps] where asked for
    readings: tuple[Reading, ...] = ()  # of the batch's reads


@dataclass(slots=True)
class RunnerCode:
    """What computes a runner's steps."""

    name: Literal["llvm", "pytorch", "kernels"]
    """Machine code of the model's own on a CPU, PyTorch's operators, the project's kernels on a GPU."""
    words: str  # for the user: which steps, or why no others
    native_steps: int = 0  # of "llvm", those that ran so; all others ran on PyTorch's operators


class Runner(Protocol):
    """A model with its cache: turns batches into tokens, and knows nothing of requests."""

    block_size: int  # tokens
    blocks: int  # of the whole cache
    context: int  # most tokens of one sequence
    vocabulary: int  # tokens are below it
    steps: int  # most steps in one call
    steps_alone: int  # the same of a batch of one sequence
    width: int  # of hidden states; 0: it cannot read
    adapters: int  # how many it has
    verifies: bool  # whether several rows of one sequence may be sampled
    code: RunnerCode

    # May raise: the engine then gives it the sequences one at a time, and ends those for which it raises again. So a
    # batch that failed half-way must be repeatable: its slots are written again with the same keys and values.
    def execute(self, batch: Batch) -> Sampled: ...


class QueuedBatch(Protocol):
    """A batch under way."""

    def read(self) -> Sampled:
        """Waits for it; may raise, and then what was queued behind it is worth nothing either."""


@runtime_checkable
class QueueingRunner(Runner, Protocol):
    """A runner that takes a batch while the one before is under way, and goes through them in their order."""

    def queue(self, batch: Batch) -> QueuedBatch:
        """All draws are plain, and nothing is read. Where it raises, the engine may queue the same work again."""
