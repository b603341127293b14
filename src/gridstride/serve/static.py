"""What a captured decode step reads and writes: tensors that stay where they are, filled from the host in one copy."""

from __future__ import annotations

import torch
from torch import Tensor

from gridstride.serve.batch import Batch
from gridstride.serve.sampling import uniform

_FIELDS = {  # name -> dtype, numbers per row
    "tokens": torch.int64, "positions": torch.int64, "slots": torch.int64, "lengths": torch.int32,
    "temperature": torch.float32, "top_k": torch.int32, "top_p": torch.float32, "min_p": torch.float32,
}  # fmt: skip


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
        pinned = device.type == "cuda"
        bytes_of = [rows * dtype.itemsize for dtype in _FIELDS.values()]
        self._host = torch.zeros(sum(bytes_of), dtype=torch.uint8, pin_memory=pinned)
        self._device = torch.zeros(sum(bytes_of), dtype=torch.uint8, device=device)
        self._here = dict(zip(_FIELDS, self._views(self._host, bytes_of), strict=True))
        self.field = dict(zip(_FIELDS, self._views(self._device, bytes_of), strict=True))

    def fill(self, batch: Batch) -> None:
        """Put a batch in which every sequence has one token in place; rows behind it stand idle."""
        count, steps = len(batch.tokens), batch.steps
        idle = {"slots": self._spare * self.block_size, "top_p": 1}
        for name, view in self._here.items():
            view[count:] = idle.get(name, 0)
        for name in ("tokens", "positions", "slots", "lengths"):
            self._here[name][:count] = torch.from_numpy(getattr(batch, name))
        for name in ("temperature", "top_k", "top_p", "min_p"):
            self._here[name][:count] = torch.tensor([getattr(d.sampling, name) for d in batch.draws])
        self._device.copy_(self._host, non_blocking=True)
        width = batch.blocks.shape[1]
        self.tables[:count, :width].copy_(torch.from_numpy(batch.blocks))
        self.tables[count:] = self._spare
        if any(not d.sampling.greedy for d in batch.draws):
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

    @staticmethod
    def _views(memory: Tensor, sizes: list[int]) -> list[Tensor]:
        return [part.view(dtype) for part, dtype in zip(memory.split(sizes), _FIELDS.values(), strict=True)]
