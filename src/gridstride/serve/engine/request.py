"""A request inside the engine: its tokens, its place in the cache, and the states it goes through.

WAITING --admit--> RUNNING --end--> ENDED
   ^                  |
   +-----preempt------+        WAITING --end--> ENDED (aborted)
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import Enum, auto

from gridstride.serve.engine.grammar import Grammar
from gridstride.serve.engine.messages import Finish, Submit
from gridstride.serve.engine.sampling import Sampling


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
    # Arrays: a chunk of a prompt becomes part of a batch without an object per token.
    tokens: array[int] = field(default_factory=lambda: array("q"))
    output: array[int] = field(default_factory=lambda: array("q"))
    state: State = State.WAITING
    finish: Finish | None = None
    blocks: list[int] = field(default_factory=list)
    computed: int = 0
    row: int = -1  # of the block tables, while running
    shared: int = 0  # leading blocks that the pool knows by their content
    content: int = 0  # the pool's name for the content up to there
    cached_tokens: int = 0
    queued_seconds: float | None = None  # None until first scheduled
    grammar: Grammar | None = None  # what the text must satisfy
    announced: bool = False  # an update has gone out

    @classmethod
    def of(cls, submit: Submit, *, serial: int, eos: frozenset[int], grammar: Grammar | None = None) -> Request:
        sampling = submit.sampling
        stops = sampling.stop_tokens if sampling.ignore_eos else sampling.stop_tokens | eos
        made = cls(submit.id, serial, submit.prompt, sampling, stops, submit.arrived, grammar=grammar)
        made.tokens.extend(submit.prompt)
        return made

    @property
    def remaining(self) -> int:
        """Known tokens that are not in the cache yet; 1 while decoding."""
        return len(self.tokens) - self.computed

    @property
    def longest(self) -> int:
        """Most tokens that it can bring into the cache; the last one drawn never gets there."""
        return len(self.prompt) + self.sampling.max_tokens - 1

    def admit(self, *, row: int, blocks: list[int], computed: int) -> None:
        """Starts, or starts again, with `computed` tokens already in the leading blocks."""
        assert self.state is State.WAITING
        assert computed < len(self.tokens)
        self.state, self.row, self.blocks, self.computed = State.RUNNING, row, blocks, computed

    def preempt(self) -> None:
        """Back into the queue: what it has said stays, its cache is computed anew."""
        assert self.state is State.RUNNING
        self.state = State.WAITING
        self._leave_cache()

    def take(self, drawn: list[int]) -> list[int]:
        """Adds the tokens drawn up to a stop token or the wished length; gives those taken."""
        room = self.sampling.max_tokens - len(self.output)
        taken = drawn[:room]
        if not self.stops.isdisjoint(taken):
            taken = taken[: 1 + next(place for place, token in enumerate(taken) if token in self.stops)]
            self.finish = "stop"
        elif len(taken) == room:
            self.finish = "length"
        self.tokens.extend(taken)
        self.output.extend(taken)
        return taken

    def end(self, finish: Finish) -> None:
        assert self.state is not State.ENDED
        self.state, self.finish = State.ENDED, finish
        self._leave_cache()

    def _leave_cache(self) -> None:
        self.blocks, self.computed, self.row, self.shared, self.content = [], 0, -1, 0, 0
