"""Speculative decoding as it is asked for, and how far each sequence goes with it. Without NumPy, for the commands."""

from __future__ import annotations

from dataclasses import dataclass

METHODS = ("ngram", "draft")
MOST_TOKENS = 16
TOKENS = 8
"""Proposed in a step, unless somebody says another number."""
_COST = 1
"""Tokens that a verification must bring beside its own, as if it took as long as two single steps: on a CPU a product
with a few rows takes longer than one with a single row, and with sixteen not much longer than with two."""
_CREDIT = 4 * _COST
_PAUSES = 2, 64  # steps, the shortest and the longest


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
    """How many tokens one sequence proposes, and when it does not.

    Twice as many after all were right, else as many as were right. What verifications cost and bring is added up: a
    sequence in debt pauses, for twice as many steps each time, so that a text that does not repeat itself pays for one
    of them in 64 steps. A text that begins to repeat itself is found out by the next one.
    """

    most: int
    length: int = 4
    balance: int = 0
    pause: int = 16  # steps that the next one takes
    pause_left: int = 0  # of the present one

    def next(self) -> int:
        """Tokens for this step; 0 in a pause."""
        if self.pause_left:
            self.pause_left -= 1
            return 0
        return min(self.length, self.most)

    def judge(self, proposed: int, accepted: int) -> None:
        self.length = min(2 * self.length, self.most) if accepted == proposed else max(1, accepted)
        self.balance = min(self.balance + accepted - _COST, _CREDIT)
        if self.balance < 0:
            self.balance, self.pause_left = 0, self.pause
            self.pause = min(2 * self.pause, _PAUSES[1])
        elif accepted > _COST:
            self.pause = max(self.pause // 2, _PAUSES[0])
