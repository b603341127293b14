"""Attention of a ragged batch over a paged cache, by PyTorch's own functions.

All sequences with one new token are one padded call; a longer chunk of a prompt is a call of its own.
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

    The cache is [layers, slots, K, D] for keys and for values.
    """

    def __init__(self, keys: Tensor, values: Tensor, batch: Batch, block_size: int) -> None:
        self._caches = keys, values
        self._size = block_size
        self._device = keys.device
        self._slots = self._tensor(batch.slots)
        counts = np.diff(batch.starts)
        single = np.flatnonzero(counts == 1)
        self._rows = self._tensor(batch.starts[:-1][single].astype(np.int64))
        self._chunks = [self._chunk(batch, s) for s in np.flatnonzero(counts > 1).tolist()]
        if single.size:
            width = -(-int(batch.lengths[single].max()) // block_size)
            self._table = self._tensor(batch.blocks[single, :width].astype(np.int64))
            places = torch.arange(width * block_size, device=self._device)
            self._seen = (places < self._tensor(batch.lengths[single])[:, None])[:, None, None]

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q [N, H, D], k and v [N, K, D] -> [N, H, D]."""
        for cache, new in zip(self._caches, (k, v), strict=True):
            cache[layer].index_copy_(0, self._slots, new)
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
        k, v = (self._gather(cache[layer], self._table).transpose(1, 2) for cache in self._caches)
        grouped = q.unflatten(1, (k.shape[1], -1))
        return F.scaled_dot_product_attention(grouped, k, v, attn_mask=self._seen).flatten(1, 2)

    def _prefill(self, layer: int, q: Tensor, table: Tensor, seen: Tensor) -> Tensor:
        """T query tokens of one sequence over its L cached ones, their own included."""
        k, v = (self._gather(cache[layer], table)[:, : seen.shape[1]].transpose(1, 2) for cache in self._caches)
        q = q.transpose(0, 1)[None]
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=k.shape[1] != q.shape[1])
        return out[0].transpose(0, 1)

    def _gather(self, cache: Tensor, table: Tensor) -> Tensor:
        """[S, W * block_size, K, D] of the blocks [S, W]."""
        blocks = cache.view(-1, self._size, *cache.shape[1:])
        return blocks[table].flatten(1, 2)

    def _chunk(self, batch: Batch, s: int) -> tuple[slice, Tensor, Tensor]:
        """Rows, blocks [1, W] and which of the L cached tokens each of the T new ones sees [T, L]."""
        start, end, length = int(batch.starts[s]), int(batch.starts[s + 1]), int(batch.lengths[s])
        table = self._tensor(batch.blocks[s : s + 1, : -(-length // self._size)].astype(np.int64))
        seen = torch.ones(end - start, length, dtype=torch.bool, device=self._device)
        return slice(start, end), table, seen.tril(length - (end - start))

    def _tensor(self, array: NDArray[np.integer[Any]]) -> Tensor:
        return torch.from_numpy(array).to(self._device)
