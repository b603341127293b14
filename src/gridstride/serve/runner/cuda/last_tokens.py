"""The last token that each draw of a batch gave, kept on the device for the batch behind it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from gridstride.serve.engine.batch import I32, I64, Batch
from gridstride.serve.runner.cuda.batch_parts import BatchPart


class LastTokens:
    """`tokens` are those of the batch before; those of the parts of the one that is being queued come beside them.

    Parts draw into rows of their own tensors: those are copied whole, one behind the other, and the host knows where in
    them each draw is.
    """

    def __init__(self, device: torch.device) -> None:
        self.tokens = torch.zeros(0, dtype=torch.int64, device=device)
        self._rows_of_draws: I64 = np.empty(0, np.int64)  # in `tokens`, of each draw
        self._noted: list[tuple[BatchPart, Tensor, I32]] = []

    def located(self, batch: Batch) -> Batch:
        """The batch, whose sources say where in `tokens` they are."""
        self._noted = []
        if batch.sources is None:
            return batch
        sources = np.full(len(batch.sources), -1, np.int32)
        from_earlier = batch.sources >= 0
        sources[from_earlier] = self._rows_of_draws[batch.sources[from_earlier]]
        return replace(batch, sources=sources)

    def note(self, part: BatchPart, tokens: Tensor, rows: I32) -> None:
        """What the last step of a part draws: a tensor that the next part may overwrite, and the rows of the draws."""
        self._noted.append((part, tokens.clone(), rows))

    def take_turn(self, batch: Batch) -> None:
        """The batch that has been queued is the one before now."""
        rows_of_draws = np.zeros(len(batch.draws), np.int64)
        first = 0
        for part, tokens, rows in self._noted:
            rows_of_draws[part.draws] = first + rows
            first += len(tokens)
        self._rows_of_draws = rows_of_draws
        if self._noted:
            self.tokens = torch.cat([tokens for _, tokens, _ in self._noted])
        self._noted = []
