"""Guesses of what sequences say next, which the next step verifies, and how many of them were right."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from gridstride.serve.engine import ngram
from gridstride.serve.engine.batch import Runner
from gridstride.serve.engine.draft import Draft
from gridstride.serve.engine.request import Request
from gridstride.serve.engine.speculation import Pace, Speculation
from gridstride.serve.engine.tables import BlockTables

log = logging.getLogger("gridstride.serve")

Wanted = Sequence[tuple[Request, int]]
Guess = Callable[[Wanted, BlockTables], list[list[int]]]
"""Tokens after what is known of each request, so many at most."""


def look_up(requests: Wanted, tables: BlockTables) -> list[list[int]]:
    return [ngram.propose(request.tokens, count) for request, count in requests]


def proposer_of(speculation: Speculation, runner: Runner, draft: Runner | None) -> Proposer:
    """ValueError for what this runner cannot verify, and for a draft model that is missing or too much."""
    if not runner.verifies:
        raise ValueError(
            f"speculation by {speculation.method} needs several tokens of a sequence drawn in one step, "
            "which this runner does not do: leave it out"
        )
    if (draft is not None) != (speculation.method == "draft"):
        have = "without a draft model" if draft is None else "with a draft model"
        raise ValueError(f"speculation by {speculation.method} {have}: they belong together")
    return Proposer(speculation, look_up if draft is None else Draft(draft, vocabulary=runner.vocabulary).guess)


class Proposer:
    def __init__(self, speculation: Speculation, guess: Guess = look_up) -> None:
        self._most, self._guess = speculation.tokens, guess
        self.drafts = self.tokens = 0  # since the start
        self._failures = 0  # the first is told: each of a model that is broken would be
        self.accepted = [0] * speculation.tokens  # the same, at each place of a proposal

    def count(self, request: Request, most: int) -> int:
        """How many tokens a request should guess in this step; the last one that it may have is always drawn."""
        pace = request.pace = request.pace or Pace(self._most)
        return max(0, min(most, pace.next(), request.sampling.max_tokens - len(request.output) - 1))

    def propose(self, requests: Wanted, tables: BlockTables) -> None:
        """Notes what is guessed with each request; nothing after a token that ends the text or must not come."""
        try:
            guesses = self._guess(requests, tables)
        except Exception as error:  # a draft model's: no text hangs on it
            if self._failures == 0:
                log.warning("tokens could not be guessed, and these requests go on without", exc_info=error)
            self._failures += 1
            guesses = [[]] * len(requests)
            for request, _ in requests:
                request.speculates = False
        for (request, _), guess in zip(requests, guesses, strict=True):
            if not request.stops.isdisjoint(guess):
                guess = guess[: next(index for index, token in enumerate(guess) if token in request.stops)]
            if guess and request.grammar is not None:
                guess = request.grammar.fitting(guess)
            request.proposed = tuple(guess)

    def judge(self, request: Request, accepted: int) -> None:
        """How many of a request's proposed tokens were drawn."""
        assert request.pace is not None
        proposed = len(request.proposed)
        request.pace.judge(proposed, accepted)
        self.drafts, self.tokens = self.drafts + 1, self.tokens + proposed
        for position in range(accepted):
            self.accepted[position] += 1
