"""Speculative decoding as it is asked for, and how far each sequence goes with it. Without NumPy, for the commands."""

from __future__ import annotations

from dataclasses import dataclass

METHODS = ("ngram",)
MOST_TOKENS = 16
TOKENS = 4
"""Proposed in a step, unless somebody says another number."""
_LONGEST_PAUSE = 64  # steps


@dataclass(frozen=True, slots=True)
class Speculation:
    """Whose guesses, and how many tokens a step at most; ValueError for what there is not."""

    method: str = "ngram"
    tokens: int = TOKENS

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"speculation by {self.method!r} is none of {', '.join(METHODS)}")
        if not 1 <= self.tokens <= MOST_TOKENS:
            raise ValueError(f"speculation of {self.tokens} tokens must be from 1 to {MOST_TOKENS}")


@dataclass(slots=True)
class Pace:
    """How many tokens one sequence proposes.

    Twice as many after all were right, as many as were right after some were. When none was, it pauses, each time for
    twice as many steps: a text that does not repeat itself pays for one wrong guess in _LONGEST_PAUSE steps.
    """

    most: int
    length: int = 1
    pause: int = 1  # steps that the next one takes
    rest: int = 0  # of the present one

    def next(self) -> int:
        """Of this step; 0 in a pause."""
        if self.rest:
            self.rest -= 1
            return 0
        return self.length

    def judge(self, proposed: int, accepted: int) -> None:
        if accepted == 0:
            self.length, self.rest, self.pause = 1, self.pause, min(2 * self.pause, _LONGEST_PAUSE)
        else:
            self.length, self.pause = min(2 * accepted if accepted == proposed else accepted, self.most), 1
