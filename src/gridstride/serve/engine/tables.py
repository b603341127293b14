"""Block tables of the running sequences as one array, changed in place, and batches built from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridstride.serve.engine.batch import I32, I64, Batch, Draw, Read
from gridstride.serve.engine.request import Request

_UNKNOWN = 0  # in the place of a token that is still being drawn


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens of a request for one step, which has `before` of it in the cache; its last `drawn` rows are drawn from."""

    request: Request
    before: int
    tokens: I64
    drawn: int


class BlockTables:
    """[rows, width]: a row per running sequence, its blocks in order, 0 behind them."""

    def __init__(self, rows: int, width: int, block_size: int) -> None:
        self._table: I32 = np.zeros((rows, width), np.int32)
        self._rows = list(range(rows - 1, -1, -1))
        self._size = block_size

    @property
    def free(self) -> int:
        """Sequences that may still start."""
        return len(self._rows)

    def open(self, blocks: Sequence[int]) -> int:
        """A row for a sequence that starts with these blocks."""
        row = self._rows.pop()
        self._table[row, : len(blocks)] = blocks
        return row

    def put(self, row: int, index: int, block: int) -> None:
        self._table[row, index] = block

    def close(self, row: int, rows: int) -> None:
        self._table[row, :rows] = 0
        self._rows.append(row)

    def batch(
        self,
        work: Sequence[tuple[Request, int]],
        draws: tuple[Draw, ...],
        *,
        steps: int,
        reads: tuple[Read, ...] = (),
        adapters: tuple[int, ...] = (),
    ) -> Batch:
        """The next `count` known tokens of each request; those of which none is left unknown are drawn from.

        Proposed tokens come behind the known ones, and are drawn from as well.
        """
        if all(count == 1 and not request.proposed for request, count in work):
            return self._decode([request for request, _ in work], draws, steps, reads, adapters)
        pieces = [
            Piece(
                request,
                request.reached,
                _next_tokens(request, count),
                0 if count < request.remaining else 1 + len(request.proposed),
            )
            for request, count in work
        ]
        sources = _sources([request for request, _ in work])
        return self.ragged(pieces, draws, steps=steps, reads=reads, adapters=adapters, sources=sources)

    def ragged(
        self,
        pieces: Sequence[Piece],
        draws: tuple[Draw, ...],
        *,
        steps: int = 1,
        reads: tuple[Read, ...] = (),
        adapters: tuple[int, ...] = (),
        sources: I32 | None = None,
    ) -> Batch:
        counts = np.array([len(piece.tokens) for piece in pieces], np.int64)
        done = np.array([piece.before for piece in pieces], np.int64)
        ends = np.cumsum(counts)
        starts = ends - counts
        positions = np.arange(ends[-1]) + np.repeat(done - starts, counts)
        table = self._rows_of([piece.request for piece in pieces], int((done + counts).max()) + steps - 1)
        slots = self._slots(table[np.repeat(np.arange(len(pieces)), counts), positions // self._size], positions)
        sampled = [
            row for end, piece in zip(ends.tolist(), pieces, strict=True) for row in range(end - piece.drawn, end)
        ]
        return Batch(
            tokens=np.concatenate([piece.tokens for piece in pieces]),
            positions=positions,
            slots=slots,
            starts=np.concatenate(([0], ends)).astype(np.int32),
            lengths=(done + counts).astype(np.int32),
            blocks=table,
            sampled=np.array(sampled, np.int32),
            draws=draws,
            steps=steps,
            reads=reads,
            adapters=adapters,
            sources=sources,
        )

    def _decode(
        self,
        requests: Sequence[Request],
        draws: tuple[Draw, ...],
        steps: int,
        reads: tuple[Read, ...],
        adapters: tuple[int, ...],
    ) -> Batch:
        every = np.arange(len(requests) + 1, dtype=np.int32)
        positions = np.array([request.reached for request in requests], np.int64)
        table = self._rows_of(requests, int(positions.max()) + steps)
        drawn = every[:-1]
        if len(draws) < len(requests):  # a prefill chunk of one token
            drawn = drawn[[request.remaining == 1 for request in requests]]
        return Batch(
            tokens=np.array([_UNKNOWN if r.coming else r.tokens[r.reached] for r in requests], np.int64),
            positions=positions,
            slots=self._slots(table[every[:-1], positions // self._size], positions),
            starts=every,
            lengths=(positions + 1).astype(np.int32),
            blocks=table,
            sampled=drawn,
            draws=draws,
            steps=steps,
            reads=reads,
            adapters=adapters,
            sources=_sources(requests),
        )

    def _rows_of(self, requests: Sequence[Request], longest: int) -> I32:
        width = -(-longest // self._size)
        return self._table[[request.row for request in requests], :width]

    def _slots(self, blocks: I32, positions: I64) -> I64:
        return blocks.astype(np.int64) * self._size + positions % self._size


def _sources(requests: Sequence[Request]) -> I32 | None:
    """Where the next token of each is drawn, of those under way that draw any."""
    if not any(request.coming for request in requests):
        return None
    return np.array([request.draw if request.coming else -1 for request in requests], np.int32)


def _next_tokens(request: Request, count: int) -> I64:
    """So many known ones, and the proposed ones behind them; or the one that is not known yet."""
    if request.coming:
        return np.array([_UNKNOWN], np.int64)
    decided = np.frombuffer(request.tokens, np.int64, count, 8 * request.reached)
    return np.concatenate((decided, np.array(request.proposed, np.int64))) if request.proposed else decided
