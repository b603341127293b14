"""A batch that the runner has and that nobody has read: what it will bring its requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gridstride.serve.engine.batch import Batch, QueuedBatch
from gridstride.serve.engine.request import Request, State


@dataclass(slots=True)
class CallEntry:
    """Of one request: `count` of its tokens are computed, `coming` are drawn behind them."""

    request: Request
    count: int
    coming: int
    generation: int  # of the request then

    @property
    def entering(self) -> int:
        """Tokens that the call brings into the cache: all but the last one that is drawn."""
        return self.count + max(0, self.coming - 1)

    @property
    def is_current(self) -> bool:
        return self.request.state is State.RUNNING and self.request.generation == self.generation

    def depart(self) -> None:
        """The request knows what is under way for it."""
        self.request.coming += self.coming
        self.request.entering += self.entering

    def arrive(self) -> None:
        """And no more of it."""
        self.request.coming -= self.coming
        self.request.entering -= self.entering


@dataclass(slots=True)
class CallUnderWay:
    entries: list[CallEntry]
    batch: Batch
    queued: QueuedBatch

    @classmethod
    def of(cls, work: Sequence[tuple[Request, int]], batch: Batch, queued: QueuedBatch) -> CallUnderWay:
        """Of a batch that has just been queued."""
        entries, draws = [], 0
        for request, count in work:
            drawn = count == request.remaining
            coming = (batch.steps if count == 1 else 1) if drawn else 0
            if drawn:
                request.draw, draws = draws, draws + 1
            entries.append(CallEntry(request, count, coming, request.generation))
        for entry in entries:
            entry.depart()
        return cls(entries, batch, queued)

    def forget(self) -> None:
        """Its requests are as if it had not been queued."""
        for entry in self.entries:
            if entry.is_current:
                entry.arrive()
