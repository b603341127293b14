"""How many threads a step gets on a CPU: the runner's own steps tell, from the first on and again every few seconds.

Steps of one token and of a thousand want different numbers, and another process that comes or goes changes both. So
steps of each size, in powers of two, have a number of their own; now and then some of them run with its neighbour in
turn, which replaces it where it is clearly faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

_LEAST_STEPS, _LEAST_SECONDS = 4, 0.05  # of each number in a trial: other processes have had their turns in that time
_HOPELESS = 2.0  # times the present number's time, after which a trial ends early
_GAIN = 0.9  # of the present number's time that its neighbour must stay below
_PAUSE = 3.0  # seconds of steps between two trials: they take some hundredths of it


@dataclass(slots=True)
class _Taken:
    """What steps of a trial have taken."""

    steps: int = 0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def enough(self) -> bool:
        return self.steps >= _LEAST_STEPS and self.seconds >= _LEAST_SECONDS

    @property
    def per_token(self) -> float:
        return self.seconds / self.tokens


@dataclass(slots=True)
class _Size:
    """Steps of one size: `now` and `other` are places among the numbers of threads."""

    now: int
    towards: int = -1
    other: int | None = None
    seconds_to_trial: float = 0.0  # seconds of steps until the next trial
    ours: _Taken = field(default_factory=_Taken)
    theirs: _Taken = field(default_factory=_Taken)


class Threads:
    """For one runner; `counts` in rising order."""

    def __init__(
        self,
        counts: Sequence[int],
        *,
        clock: Callable[[], float] = time.perf_counter,
        use: Callable[[int], None] = torch.set_num_threads,
    ) -> None:
        self._counts, self._clock, self._use = counts, clock, use
        self._sizes: dict[int, _Size] = {}

    @contextmanager
    def step(self, tokens: int) -> Iterator[None]:
        """Inside, a step of so many tokens runs, with the threads that are right for it; its time is noted."""
        size = self._sizes.setdefault(tokens.bit_length(), _Size(len(self._counts) - 1))
        if size.other is None and size.seconds_to_trial <= 0:
            self._begin_trial(size)
        tried = size.other is not None and size.theirs.seconds <= size.ours.seconds and size.ours.steps > 0
        self._use(self._counts[size.other if tried and size.other is not None else size.now])
        start = self._clock()
        yield
        seconds = self._clock() - start
        if size.other is None:
            size.seconds_to_trial -= seconds
            return
        threads = size.theirs if tried else size.ours
        threads.steps, threads.tokens, threads.seconds = (
            threads.steps + 1,
            threads.tokens + tokens,
            threads.seconds + seconds,
        )
        self._judge(size)

    def _begin_trial(self, size: _Size) -> None:
        if len(self._counts) == 1:
            size.seconds_to_trial = float("inf")
            return
        if not 0 <= size.now + size.towards < len(self._counts):
            size.towards = -size.towards
        size.other, size.ours, size.theirs = size.now + size.towards, _Taken(), _Taken()

    def _judge(self, size: _Size) -> None:
        ours, theirs = size.ours, size.theirs
        if not (ours.steps and theirs.steps):
            return
        ratio = theirs.per_token / ours.per_token
        hopeless = ratio > _HOPELESS and theirs.seconds > _LEAST_SECONDS
        if not hopeless and not (ours.enough and theirs.enough):
            return
        assert size.other is not None
        if ratio < _GAIN:  # and on in the same direction, at once
            size.now, size.seconds_to_trial = size.other, 0.0
        else:
            size.towards, size.seconds_to_trial = -size.towards, _PAUSE
        size.other = None
