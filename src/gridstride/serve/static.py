"""What a captured decode step reads and writes: tensors that stay where they are, filled from the host in one copy."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from gridstride.serve.batch import Batch
from gridstride.serve.sampling import uniform

_FIELDS = {
    "tokens": "int64", "positions": "int64", "slots": "int64", "lengths": "int32",
    "temperature": "float32", "top_k": "int32", "top_p": "float32", "min_p": "float32",
}  # fmt: skip
_FROM_BATCH = frozenset({"tokens", "positions", "slots", "lengths"})  # the others are the requests' wishes
_IDLE = {"top_p": 1.0}  # what is not 0 in a row without a sequence


class Static:
    """Inputs of `rows` sequences for up to `steps` steps, and the tokens drawn.

    `spare` is a block that belongs to nobody: rows without a sequence write there.
    """

    def __init__(self, rows: int, *, steps: int, width: int, spare: int, block_size: int, device: torch.device) -> None:
        self.rows, self.block_size, self._spare = rows, block_size, spare
        self.uniform = torch.zeros((steps, rows), dtype=torch.float64, device=device)
        self.tables = torch.full((rows, width), spare, dtype=torch.int32, device=device)
        self.drawn = torch.zeros((steps, rows), dtype=torch.int64, device=device)
        self.step = torch.zeros(1, dtype=torch.int64, device=device)
        sizes = [rows * np.dtype(dtype).itemsize for dtype in _FIELDS.values()]
        self._host = torch.zeros(sum(sizes), dtype=torch.uint8, pin_memory=device.type == "cuda")
        self._host_tables = torch.zeros((rows, width), dtype=torch.int32, pin_memory=device.type == "cuda")
        self._device = torch.zeros(sum(sizes), dtype=torch.uint8, device=device)
        parts = self._device.split(sizes)
        self.field = {n: p.view(getattr(torch, d)) for (n, d), p in zip(_FIELDS.items(), parts, strict=True)}
        cuts = np.split(self._host.numpy(), np.cumsum(sizes)[:-1])
        self._here = {n: part.view(d) for (n, d), part in zip(_FIELDS.items(), cuts, strict=True)}

    def fill(self, batch: Batch) -> None:
        """Put a batch in which every sequence has one token in place; rows behind it stand idle.

        The host's copies are free to be changed: whoever filled them before has waited for the tokens since.
        """
        count, steps = len(batch.tokens), batch.steps
        wishes = [draw.sampling for draw in batch.draws]
        for name, view in self._here.items():
            if name in _FROM_BATCH:
                view[:count] = getattr(batch, name)
            else:
                view[:count] = [getattr(wish, name) for wish in wishes]
            view[count:] = _IDLE.get(name, 0)
        self._here["slots"][count:] = self._spare * self.block_size
        self._device.copy_(self._host, non_blocking=True)
        width = batch.blocks.shape[1]
        self._host_tables.numpy()[:count, :width] = batch.blocks
        self.tables[:count, :width].copy_(self._host_tables[:count, :width], non_blocking=True)
        if count < self.rows:
            self.tables[count:] = self._spare
        if not all(wish.greedy for wish in wishes):
            points = [[uniform(d.sampling.seed, d.index + i) for d in batch.draws] for i in range(steps)]
            self.uniform[:steps, :count].copy_(torch.tensor(points, dtype=torch.float64))
        self.step.zero_()

    def advance(self, tokens: Tensor) -> None:
        """Note the tokens drawn, and make them the next step's input; every write is in place."""
        field = self.field
        self.drawn.index_copy_(0, self.step, tokens[None])
        self.step += 1
        field["tokens"].copy_(tokens.clamp(min=0))
        field["positions"] += 1
        field["lengths"] += (field["lengths"] > 0).int()
        place = (field["positions"] // self.block_size).clamp(max=self.tables.shape[1] - 1)
        block = self.tables.gather(1, place[:, None])[:, 0].long()
        torch.add(block * self.block_size, field["positions"] % self.block_size, out=field["slots"])
