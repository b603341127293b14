"""Block tables of the running sequences as one array, changed in place, and batches built from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gridstride.serve.engine.batch import I32, I64, Batch, Draw, Read
from gridstride.serve.engine.request import Request


class BlockTables:
    """[rows, width]: a row per running sequence, its blocks in order, 0 behind them."""

    def __init__(self, rows: int, width: int, block_size: int) -> None:
        self._table: I32 = np.zeros((rows, width), np.int32)
        self._rows = list(range(rows - 1, -1, -1))
        self._size = block_size

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
        requests = [request for request, _ in work]
        tokens = [_next_tokens(request, count) for request, count in work]
        drawn = [0 if count < request.remaining else 1 + len(request.proposed) for request, count in work]
        done = [request.computed for request in requests]
        return self.ragged(requests, done, tokens, drawn, draws=draws, steps=steps, reads=reads, adapters=adapters)

    def ragged(
        self,
        requests: Sequence[Request],
        before: Sequence[int],
        tokens: Sequence[I64],
        drawn: Sequence[int],
        *,
        draws: tuple[Draw, ...],
        steps: int = 1,
        reads: tuple[Read, ...] = (),
        adapters: tuple[int, ...] = (),
    ) -> Batch:
        """These tokens of each request, which has so many before them; so many of its last rows are drawn from."""
        counts, done = np.array([len(piece) for piece in tokens], np.int64), np.array(before, np.int64)
        ends = np.cumsum(counts)
        starts = ends - counts
        positions = np.arange(ends[-1]) + np.repeat(done - starts, counts)
        table = self._rows_of(requests, int((done + counts).max()) + steps - 1)
        slots = self._slots(table[np.repeat(np.arange(len(requests)), counts), positions // self._size], positions)
        sampled = [row for end, rows in zip(ends.tolist(), drawn, strict=True) for row in range(end - rows, end)]
        return Batch(
            tokens=np.concatenate(tokens),
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
        positions = np.array([request.computed for request in requests], np.int64)
        table = self._rows_of(requests, int(positions.max()) + steps)
        drawn = every[:-1]
        if len(draws) < len(requests):  # a prefill chunk of one token
            drawn = drawn[[request.remaining == 1 for request in requests]]
        return Batch(
            tokens=np.array([request.tokens[request.computed] for request in requests], np.int64),
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
        )

    def _rows_of(self, requests: Sequence[Request], longest: int) -> I32:
        width = -(-longest // self._size)
        return self._table[[request.row for request in requests], :width]

    def _slots(self, blocks: I32, positions: I64) -> I64:
        return blocks.astype(np.int64) * self._size + positions % self._size


def _next_tokens(request: Request, count: int) -> I64:
    """So many known ones, and the proposed ones behind them."""
    known = np.frombuffer(request.tokens, np.int64, count, 8 * request.computed)
    return np.concatenate((known, np.array(request.proposed, np.int64))) if request.proposed else known
