"""A request inside the engine: its tokens, its place in the cache, and the states it goes through.

WAITING --admit--> RUNNING --end--> ENDED
   ^                  |
   +-----preempt------+        WAITING --end--> ENDED (aborted)
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray

from gridstride.serve.engine.batch import Read, Reading, TokenLogprobs
from gridstride.serve.engine.blocks import START
from gridstride.serve.engine.grammar import Grammar
from gridstride.serve.engine.messages import Finish, Submit
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.speculation import Pace


class State(Enum):
    WAITING = auto()
    RUNNING = auto()
    ENDED = auto()


@dataclass(slots=True, eq=False)
class Request:
    """`tokens` is all that is known of the text; the keys and values of the first `computed` lie in `blocks`."""

    id: str
    serial: int  # order of arrival in the engine
    prompt: tuple[int, ...]
    sampling: Sampling
    stops: frozenset[int]
    arrived: float  # time.monotonic()
    adapter: int = 0
    # Arrays: a chunk of a prompt becomes part of a batch without an object per token.
    tokens: array[int] = field(default_factory=lambda: array("q"))
    output: array[int] = field(default_factory=lambda: array("q"))
    state: State = State.WAITING
    finish: Finish | None = None
    blocks: list[int] = field(default_factory=list)
    computed: int = 0
    coming: int = 0  # tokens that batches under way draw
    entering: int = 0  # tokens that those bring into the cache
    draw: int = -1  # of the batch under way, the one that gives the last of them
    generation: int = 0  # batches queued for an earlier one bring it nothing
    row: int = -1  # of the block tables, while running
    shared: int = 0  # leading blocks that the pool knows by their content
    content: int = 0  # the pool's name for the content up to there
    cached_tokens: int = 0
    queued_seconds: float | None = None  # None until first scheduled
    grammar: Grammar | None = None  # what the text must satisfy
    proposed: tuple[int, ...] = ()  # guessed to follow, to be verified in this step
    pace: Pace | None = None  # of its guesses
    drafted: int = 0  # tokens whose keys and values the draft model has
    speculates: bool = True  # until a guess has gone wrong otherwise than by being rejected
    announced: bool = False  # an update has gone out
    read: int = 0  # tokens of the prompt of which what is wanted is known
    scores: list[TokenLogprobs] = field(default_factory=list)
    pooled: NDArray[np.float32] | None = None  # the last state, or the sum of all

    @classmethod
    def of(cls, submit: Submit, *, serial: int, eos: frozenset[int], grammar: Grammar | None = None) -> Request:
        sampling = submit.sampling
        stops = sampling.stop_tokens if sampling.ignore_eos else sampling.stop_tokens | eos
        request = cls(
            submit.id, serial, submit.prompt, sampling, stops, submit.arrived, submit.adapter, grammar=grammar
        )
        request.tokens.extend(submit.prompt)
        return request

    @property
    def host_bound(self) -> bool:
        """Whether the host must know its last token before the next one, or does more with it than to pass it on."""
        return self.grammar is not None or self.sampling.reads or not self.sampling.plain

    @property
    def length(self) -> int:
        """Tokens when what is under way is done, known ones and others."""
        return len(self.tokens) + self.coming

    @property
    def reached(self) -> int:
        """Tokens in the cache when what is under way is done."""
        return self.computed + self.entering

    @property
    def remaining(self) -> int:
        """Tokens that are not in the cache then; 1 while decoding."""
        return self.length - self.reached

    @property
    def left(self) -> int:
        """Tokens that may still be drawn then."""
        return self.sampling.max_tokens - len(self.output) - self.coming

    @property
    def ending(self) -> bool:
        """Whether what is under way ends it by its length."""
        return self.coming > 0 and self.left <= 0

    @property
    def root(self) -> int:
        """The pool's name for what is before its first block: keys and values of another adapter are others."""
        return START - self.adapter

    @property
    def unread(self) -> int:
        """Tokens of the prompt of which something is still wanted."""
        sampling = self.sampling
        if not sampling.reads:
            return 0
        return len(self.prompt) - self.read - (sampling.pool is None)  # nothing known follows the last token

    def reading(self, sequence: int, count: int) -> Read | None:
        """What is wanted of its next `count` tokens; those computed once more after a preemption were read before."""
        first = self.computed
        if self.sampling.pool == "last":
            if first + count < len(self.prompt):
                return None
            return Read(sequence, len(self.prompt) - 1 - first, None, 0, "last", 1)
        count_to_read = min(first + count, self.read + self.unread) - self.read
        if count_to_read <= 0:
            return None
        targets = None
        if self.sampling.pool is None:
            targets = np.array(self.tokens[self.read + 1 : self.read + 1 + count_to_read], np.int64)
        return Read(
            sequence, self.read - first, targets, self.sampling.prompt_logprobs or 0, self.sampling.pool, count_to_read
        )

    def take_reading(self, read: Read, reading: Reading) -> None:
        """What a batch gave for one of its reads."""
        if isinstance(reading, tuple):
            self.scores += reading
            self.read += read.count
        elif read.pool == "mean":
            self.pooled = reading if self.pooled is None else self.pooled + reading
            self.read += read.count
        else:
            self.pooled, self.read = reading, len(self.prompt)

    def embedding(self) -> bytes | None:
        """Of the prompt that has been read."""
        if self.pooled is None:
            return None
        scale = 1 / len(self.prompt) if self.sampling.pool == "mean" else 1.0
        return (self.pooled * scale).astype(np.float32).tobytes()

    @property
    def longest(self) -> int:
        """Most tokens that it can bring into the cache; the last one drawn never gets there."""
        return len(self.prompt) + self.sampling.max_tokens - 1

    def admit(self, *, row: int, blocks: list[int], computed: int) -> None:
        """Starts, or starts again, with `computed` tokens already in the leading blocks."""
        assert self.state is State.WAITING
        assert computed < len(self.tokens)
        self.state, self.row, self.blocks, self.computed = State.RUNNING, row, blocks, computed
        self.generation += 1

    def preempt(self) -> None:
        """Back into the queue: what it has said stays, its cache is computed anew."""
        assert self.state is State.RUNNING
        self.state = State.WAITING
        self._leave_cache()

    def take(self, drawn: list[int]) -> list[int]:
        """Adds the tokens drawn up to a stop token or the wished length; gives those taken."""
        room = self.sampling.max_tokens - len(self.output)
        tokens = drawn[:room]
        if not self.stops.isdisjoint(tokens):
            tokens = tokens[: 1 + next(index for index, token in enumerate(tokens) if token in self.stops)]
            self.finish = "stop"
        elif len(tokens) == room:
            self.finish = "length"
        self.tokens.extend(tokens)
        self.output.extend(tokens)
        return tokens

    def forget_what_is_coming(self) -> None:
        """What is under way goes on from where it has not come."""
        self.coming = self.entering = 0
        self.generation += 1

    def end(self, finish: Finish) -> None:
        assert self.state is not State.ENDED
        self.state, self.finish = State.ENDED, finish
        self._leave_cache()

    def _leave_cache(self) -> None:
        self.blocks, self.computed, self.row, self.shared, self.content = [], 0, -1, 0, 0
        self.proposed, self.drafted = (), 0
        self.coming, self.entering, self.draw = 0, 0, -1
