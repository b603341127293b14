"""Attention of a ragged batch over a paged cache, by PyTorch's own functions.

Sequences with one new token are a few padded calls, each of sequences of like length, and so are those with a few, as
proposed tokens have them; a longer chunk of a prompt is a call of its own.

What lies behind a sequence's end takes part in the arithmetic, with weight 0. So it must be finite: a block is zeroed
when its first slot is written, else a NaN that some ended request has left there would reach its next owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from gridstride.serve.engine.batch import Batch

_FEW = 24
"""New tokens of a sequence that shares a call with others."""
_LEAST_GROUP = 8
_LEAST_FILLED = 0.75
"""A group of so many sequences takes no more that are shorter than this share of its longest."""


@dataclass(frozen=True, slots=True)
class Group:
    """Sequences of one call: their rows of q, their blocks, and which of the places there each row sees."""

    rows: Tensor  # [S, T], or [T] of a chunk; a sequence with fewer than T new tokens has its last one several times
    blocks: Tensor  # [S * W] or [W]
    seen: Tensor  # [S, T, W * block_size] or [T, L]


class Scratch:
    """Memory for gathered keys and values: fresh pages at every call would cost more than the copies."""

    def __init__(self) -> None:
        self._memory: Tensor | None = None

    def take(self, which: int, blocks: Tensor, like: Tensor) -> Tensor:
        """[len(blocks), block_size, K, D], for keys (0) or values (1)."""
        held = self._memory
        if held is None or held.shape[1] < len(blocks):
            held = self._memory = like.new_empty((2, len(blocks) * 5 // 4, *like.shape[1:]))
        return held[which, : len(blocks)]


class PagedAttention:
    """An `Attend` for one batch: writes the new keys and values to their slots, then reads each sequence's blocks.

    The cache is [2, layers, blocks + 1, block_size, K, D], keys and values; its last block stays 0.
    """

    def __init__(self, cache: Tensor, batch: Batch, scratch: Scratch) -> None:
        self._cache, self._scratch = cache, scratch
        self._nothing, self._size = cache.shape[2] - 1, cache.shape[3]
        self._slots = self._tensor(batch.slots)
        fresh = batch.slots[batch.slots % self._size == 0] // self._size
        if fresh.size:
            cache[:, :, self._tensor(fresh)] = 0
        counts = np.diff(batch.starts)
        self._chunks = [self._chunk(batch, s) for s in np.flatnonzero(counts > _FEW).tolist()]
        self._decoding = [
            self._group(batch, counts, members)
            for alike in (counts == 1, (counts > 1) & (counts <= _FEW))
            for members in _alike(batch.lengths, alike)
        ]

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q [N, H, D], k and v [N, K, D] -> [N, H, D]."""
        for cache, new in zip(self._cache[:, layer], (k, v), strict=True):
            cache.flatten(0, 1).index_copy_(0, self._slots, new)
        out = torch.empty_like(q)
        for group in self._decoding:
            out[group.rows] = self._decode(layer, q[group.rows], group)
        for group in self._chunks:
            out[group.rows] = self._prefill(layer, q[group.rows], group)
        return out

    def _decode(self, layer: int, q: Tensor, group: Group) -> Tensor:
        """T query tokens of each of S sequences [S, T, H, D]. The heads that share keys stand where tokens would."""
        k, v = (self._gather(layer, which, group.blocks, len(q)) for which in (0, 1))
        grouped = q.unflatten(2, (k.shape[1], -1)).transpose(1, 2)  # [S, K, T, H / K, D]
        tokens, heads = grouped.shape[2:4]
        seen = group.seen if 1 in (tokens, heads) else group.seen.repeat_interleave(heads, dim=1)
        out = F.scaled_dot_product_attention(grouped.flatten(2, 3), k, v, attn_mask=seen[:, None])
        return out.unflatten(2, (tokens, heads)).transpose(1, 2).flatten(2, 3)

    def _prefill(self, layer: int, q: Tensor, group: Group) -> Tensor:
        """T query tokens of one sequence [T, H, D] over its L cached ones, their own included."""
        length = group.seen.shape[1]
        k, v = (self._gather(layer, which, group.blocks, 1)[:, :, :length] for which in (0, 1))
        q = q.transpose(0, 1)[None]
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=group.seen, enable_gqa=k.shape[1] != q.shape[1])
        return out[0].transpose(0, 1)

    def _gather(self, layer: int, which: int, blocks: Tensor, sequences: int) -> Tensor:
        """[S, K, W * block_size, D] of the blocks [S * W]."""
        cache = self._cache[which, layer]
        out = self._scratch.take(which, blocks, cache)
        torch.index_select(cache, 0, blocks, out=out)
        return out.view(sequences, -1, *cache.shape[2:]).transpose(1, 2)

    def _group(self, batch: Batch, counts: NDArray[Any], members: NDArray[Any]) -> Group:
        lengths = batch.lengths[members]
        used = -(-lengths // self._size)
        width = int(used.max())
        blocks = np.where(np.arange(width) < used[:, None], batch.blocks[members, :width], self._nothing)
        mine = counts[members][:, None]
        token = np.minimum(np.arange(mine.max()), mine - 1)  # [S, T]
        seen = np.arange(width * self._size) <= (lengths[:, None] - mine + token)[..., None]
        rows = (batch.starts[members][:, None] + token).astype(np.int64)
        return Group(self._tensor(rows), self._tensor(blocks.ravel().astype(np.int64)), self._tensor(seen))

    def _chunk(self, batch: Batch, s: int) -> Group:
        start, end, length = int(batch.starts[s]), int(batch.starts[s + 1]), int(batch.lengths[s])
        blocks = batch.blocks[s, : -(-length // self._size)].astype(np.int64)
        seen = torch.ones(end - start, length, dtype=torch.bool, device=self._cache.device)
        return Group(self._tensor(np.arange(start, end)), self._tensor(blocks), seen.tril(length - (end - start)))

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self._cache.device)


def _alike(lengths: NDArray[Any], decoding: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The decoding sequences, longest first, cut where padding to the longest would be more than a quarter."""
    order = np.flatnonzero(decoding)
    order = order[np.argsort(-lengths[order], kind="stable")]
    start = 0
    while start < len(order):
        fits = int(np.count_nonzero(lengths[order[start:]] >= _LEAST_FILLED * lengths[order[start]]))
        end = start + max(fits, _LEAST_GROUP)
        yield order[start:end]
        start = end
