"""Tokens guessed by a small model, which has a cache of its own in the blocks of the large one's.

It follows a sequence only when that is to guess, from the first token that its cache does not hold.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from gridstride.serve.engine.batch import Draw, Runner
from gridstride.serve.engine.request import Request
from gridstride.serve.engine.tables import BlockTables, Piece

_MOST_BEHIND = 2048
"""Tokens that it reads before a guess, of all sequences together; who lacks more of them guesses in a later step."""


class Draft:
    """The two models have one tokenizer; their tables may have rows beyond it, one more than the other."""

    def __init__(self, runner: Runner, *, vocabulary: int) -> None:
        """`vocabulary` is the large model's: no token beyond it is proposed."""
        self._runner, self._vocabulary = runner, vocabulary

    def guess(self, requests: Sequence[tuple[Request, int]], tables: BlockTables) -> list[list[int]]:
        """So many tokens after what is known of each request, drawn as the large model draws; fewer where it cannot."""
        guesses: list[list[int]] = [[] for _ in requests]
        for request, _ in requests:
            request.speculates = request.speculates and self._knows(request)
        near = self._near_enough([request for request, _ in requests if request.speculates], tables)
        speculating = [i for i, (request, _) in enumerate(requests) if request.speculates]
        active = [speculating[i] for i in near]
        while active:
            drawn = self._next([(requests[i][0], guesses[i]) for i in active], tables)
            goes_on = []
            for i, token in zip(active, drawn, strict=True):
                if token < 0:  # its logits were not finite, nor will they be
                    requests[i][0].speculates = False
                elif token < self._vocabulary:
                    guesses[i].append(token)
                    goes_on += [i] if _may_continue(*requests[i], guesses[i]) else []
            active = goes_on
        return guesses

    def _knows(self, request: Request) -> bool:
        """Whether the small model has a row for each token that it would read or weigh."""
        known = self._runner.vocabulary
        return (
            max(request.tokens[request.drafted :], default=0) < known
            and max(request.sampling.logit_bias, default=0) < known
        )

    def _near_enough(self, requests: Sequence[Request], tables: BlockTables) -> list[int]:
        """Those that are near enough to guess; of the first that is not, as much is read as there is room for."""
        room, near = _MOST_BEHIND, []
        for index, request in enumerate(requests):
            missing_tokens = len(request.tokens) - request.drafted
            if missing_tokens <= room:
                near.append(index)
            elif room:
                piece = np.array(request.tokens[request.drafted : request.drafted + room], np.int64)
                self._runner.execute(tables.ragged([Piece(request, request.drafted, piece, 0)], ()))
                request.drafted += room
            room = max(0, room - missing_tokens)
        return near

    def _next(self, work: Sequence[tuple[Request, Sequence[int]]], tables: BlockTables) -> list[int]:
        """The token after what is known and what was guessed of each."""
        requests = [request for request, _ in work]
        guesses = [array("q", guessed) for _, guessed in work]
        pieces = [
            Piece(r, r.drafted, np.array((r.tokens + more)[r.drafted :], np.int64), 1)
            for r, more in zip(requests, guesses, strict=True)
        ]
        outputs = [request.output + more for request, more in zip(requests, guesses, strict=True)]
        draws = tuple(
            Draw(r.sampling, len(output), r.prompt, output, r.grammar.mask_after(guessed) if r.grammar else None)
            for (r, guessed), output in zip(work, outputs, strict=True)
        )
        drawn: list[int] = self._runner.execute(tables.ragged(pieces, draws)).tokens[:, 0].tolist()
        for piece in pieces:
            piece.request.drafted += len(piece.tokens)
        return drawn


def _may_continue(request: Request, count: int, tokens: Sequence[int]) -> bool:
    """Whether more is to be guessed: nothing follows a token that ends the text."""
    return len(tokens) < count and tokens[-1] not in request.stops
