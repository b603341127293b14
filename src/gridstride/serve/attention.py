"""Attention of a ragged batch over a paged cache, by PyTorch's own functions.

All sequences with one new token are one padded call; a longer chunk of a prompt is a call of its own.

What lies behind a sequence's end takes part in the arithmetic, with weight 0. So it must be finite: a block is zeroed
when its first slot is written, else a NaN that some ended request has left there would reach its next owner.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from gridstride.serve.batch import Batch


class PagedAttention:
    """An `Attend` for one batch: writes the new keys and values to their slots, then reads each sequence's blocks.

    The cache is [2, layers, blocks + 1, block_size, K, D], keys and values; its last block stays 0.
    """

    def __init__(self, cache: Tensor, batch: Batch) -> None:
        self._cache, self._device = cache, cache.device
        self._nothing, self._size = cache.shape[2] - 1, cache.shape[3]
        self._slots = self._tensor(batch.slots)
        fresh = batch.slots[batch.slots % self._size == 0] // self._size
        if fresh.size:
            cache[:, :, self._tensor(fresh)] = 0
        counts = np.diff(batch.starts)
        single = np.flatnonzero(counts == 1)
        self._rows = self._tensor(batch.starts[:-1][single].astype(np.int64))
        self._chunks = [self._chunk(batch, s) for s in np.flatnonzero(counts > 1).tolist()]
        if single.size:
            self._table, self._seen = self._padded(batch.blocks[single], batch.lengths[single])

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q [N, H, D], k and v [N, K, D] -> [N, H, D]."""
        for cache, new in zip(self._cache[:, layer], (k, v), strict=True):
            cache.flatten(0, 1).index_copy_(0, self._slots, new)
        if not self._chunks:
            return self._decode(layer, q)
        out = torch.empty_like(q)
        if self._rows.numel():
            out[self._rows] = self._decode(layer, q[self._rows])
        for rows, table, seen in self._chunks:
            out[rows] = self._prefill(layer, q[rows], table, seen)
        return out

    def _decode(self, layer: int, q: Tensor) -> Tensor:
        """One query token of each of S sequences. The heads that share keys stand where tokens would."""
        k, v = (self._gather(cache, self._table) for cache in self._cache[:, layer])
        grouped = q.unflatten(1, (k.shape[1], -1))
        return F.scaled_dot_product_attention(grouped, k, v, attn_mask=self._seen).flatten(1, 2)

    def _prefill(self, layer: int, q: Tensor, table: Tensor, seen: Tensor) -> Tensor:
        """T query tokens of one sequence over its L cached ones, their own included."""
        k, v = (self._gather(cache, table)[:, :, : seen.shape[1]] for cache in self._cache[:, layer])
        q = q.transpose(0, 1)[None]
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=k.shape[1] != q.shape[1])
        return out[0].transpose(0, 1)

    def _gather(self, cache: Tensor, table: Tensor) -> Tensor:
        """[S, K, W * block_size, D] of the blocks [S, W]."""
        return cache[table].flatten(1, 2).transpose(1, 2)

    def _padded(self, blocks: NDArray[Any], lengths: NDArray[Any]) -> tuple[Tensor, Tensor]:
        """The blocks of S sequences [S, W], and which places hold tokens [S, 1, 1, W * block_size]."""
        used = -(-lengths // self._size)
        width = int(used.max())
        table = np.where(np.arange(width) < used[:, None], blocks[:, :width], self._nothing)
        seen = np.arange(width * self._size) < lengths[:, None]
        return self._tensor(table.astype(np.int64)), self._tensor(seen)[:, None, None]

    def _chunk(self, batch: Batch, s: int) -> tuple[slice, Tensor, Tensor]:
        """Rows, blocks [1, W] and which of the L cached tokens each of the T new ones sees [T, L]."""
        start, end, length = int(batch.starts[s]), int(batch.starts[s + 1]), int(batch.lengths[s])
        table = self._tensor(batch.blocks[s : s + 1, : -(-length // self._size)].astype(np.int64))
        seen = torch.ones(end - start, length, dtype=torch.bool, device=self._device)
        return slice(start, end), table, seen.tril(length - (end - start))

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self._device)
