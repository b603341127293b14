"""Guesses of what sequences say next, which the next step verifies, and how many of them were right."""

from __future__ import annotations

from gridstride.serve.engine import ngram
from gridstride.serve.engine.request import Request
from gridstride.serve.engine.speculation import Pace, Speculation


class Proposer:
    def __init__(self, speculation: Speculation) -> None:
        self._most = speculation.tokens
        self.drafts = self.tokens = self.accepted = 0  # since the start

    def propose(self, request: Request, most: int) -> list[int]:
        """Up to `most` tokens that may follow; nothing after one that would end the text, or that a grammar forbids."""
        pace = request.pace = request.pace or Pace(self._most)
        count = min(most, pace.next(), request.sampling.max_tokens - len(request.output) - 1)
        found = ngram.propose(request.tokens, count) if count > 0 else []
        if found and not request.stops.isdisjoint(found):
            found = found[: next(place for place, token in enumerate(found) if token in request.stops)]
        return request.grammar.fitting(found) if found and request.grammar is not None else found

    def judge(self, request: Request, accepted: int) -> None:
        """How many of a request's proposed tokens were drawn."""
        assert request.pace is not None
        proposed = len(request.proposed)
        request.pace.judge(proposed, accepted)
        self.drafts, self.tokens, self.accepted = self.drafts + 1, self.tokens + proposed, self.accepted + accepted
