"""Attention of a ragged batch over a paged cache, by PyTorch's own functions.

Sequences with one new token are a few padded calls, each of sequences of like length, and so are those with a few, as
proposed tokens have them; a longer chunk of a prompt is a call of its own. Where a layer has a sliding window, only the
blocks that it reaches into are read.

What lies behind a sequence's end takes part in the arithmetic, with weight 0. So it must be finite: a block is zeroed
when its first slot is written, else a NaN that some ended request has left there would reach its next owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gridstride.models import ops
from gridstride.models.decoder import LayerAttention
from gridstride.serve.engine.batch import Batch

_FEW = 24
"""New tokens of a sequence that shares a call with others."""
_LEAST_GROUP = 8
_LEAST_FILLED = 0.75
"""A group of so many sequences takes no more that are shorter than this share of its longest."""


@dataclass(frozen=True, slots=True)
class SequenceGroup:
    """Sequences of one call: their rows of q, their blocks, and which of the places there each row sees."""

    rows: Tensor  # [S, T], or [T] of a chunk; a sequence with fewer than T new tokens has its last one several times
    blocks: Tensor  # [S * W] or [W]
    mask: Tensor  # [S, T, W * block_size] or [T, L]


@dataclass(frozen=True, slots=True)
class Groups:
    """All calls of a layer: sequences with one new token or a few, and chunks of prompts."""

    decoding: tuple[SequenceGroup, ...]
    chunks: tuple[SequenceGroup, ...]


class GatherBuffers:
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

    def __init__(self, cache: Tensor, batch: Batch, scratch: GatherBuffers) -> None:
        self._cache, self._scratch = cache, scratch
        self._nothing, self._size = cache.shape[2] - 1, cache.shape[3]
        self._slots = self._tensor(batch.slots)
        fresh = batch.slots[batch.slots % self._size == 0] // self._size
        if fresh.size:
            cache[:, :, self._tensor(fresh)] = 0
        self._batch = batch
        self._groups: dict[int | None, Groups] = {}  # by window

    def __call__(self, which: LayerAttention, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q [N, H, D], k and v [N, K, D] -> [N, H, D]."""
        for cache, new in zip(self._cache[:, which.layer], (k, v), strict=True):
            cache.flatten(0, 1).index_copy_(0, self._slots, new)
        if which.window not in self._groups:
            self._groups[which.window] = self._grouped(self._batch, which.window)
        out = torch.empty_like(q)
        for group in self._groups[which.window].decoding:
            out[group.rows] = self._decode(which, q[group.rows], group)
        for group in self._groups[which.window].chunks:
            out[group.rows] = self._prefill(which, q[group.rows], group)
        return out

    def _decode(self, which: LayerAttention, q: Tensor, group: SequenceGroup) -> Tensor:
        """T query tokens of each of S sequences [S, T, H, D]. The heads that share keys stand where tokens would."""
        k, v = (self._gather(which.layer, part, group.blocks, len(q)) for part in (0, 1))
        grouped = q.unflatten(2, (k.shape[1], -1)).transpose(1, 2)  # [S, K, T, H / K, D]
        tokens, heads = grouped.shape[2:4]
        mask = group.mask if 1 in (tokens, heads) else group.mask.repeat_interleave(heads, dim=1)
        out = ops.masked_attention(grouped.flatten(2, 3), k, v, mask[:, None], cap=which.cap)
        return out.unflatten(2, (tokens, heads)).transpose(1, 2).flatten(2, 3)

    def _prefill(self, which: LayerAttention, q: Tensor, group: SequenceGroup) -> Tensor:
        """T query tokens of one sequence [T, H, D] over its L cached ones, their own included."""
        length = group.mask.shape[1]
        k, v = (self._gather(which.layer, part, group.blocks, 1)[:, :, :length] for part in (0, 1))
        return ops.masked_attention(q.transpose(0, 1)[None], k, v, group.mask, cap=which.cap)[0].transpose(0, 1)

    def _gather(self, layer: int, which: int, blocks: Tensor, sequences: int) -> Tensor:
        """[S, K, W * block_size, D] of the blocks [S * W]."""
        cache = self._cache[which, layer]
        out = self._scratch.take(which, blocks, cache)
        torch.index_select(cache, 0, blocks, out=out)
        return out.view(sequences, -1, *cache.shape[2:]).transpose(1, 2)

    def _grouped(self, batch: Batch, window: int | None) -> Groups:
        counts = np.diff(batch.starts)
        looked = batch.lengths if window is None else np.minimum(batch.lengths, window + counts - 1)
        return Groups(
            tuple(
                self._group(batch, counts, members, window)
                for alike in (counts == 1, (counts > 1) & (counts <= _FEW))
                for members in _alike(looked, alike)
            ),
            tuple(self._chunk(batch, s, window) for s in np.flatnonzero(counts > _FEW).tolist()),
        )

    def _group(self, batch: Batch, counts: NDArray[Any], members: NDArray[Any], window: int | None) -> SequenceGroup:
        lengths, mine = (values[members].astype(np.int64)[:, None] for values in (batch.lengths, counts))
        token = np.minimum(np.arange(mine.max()), mine - 1)  # [S, T]
        last = lengths - mine + token  # place that a token sees last: its own
        begins = np.zeros_like(last) if window is None else np.maximum(last + 1 - window, 0)
        first = begins[:, :1] // self._size  # block of each sequence
        numbers = first + np.arange(int((-(-lengths // self._size) - first).max()))
        clipped = np.minimum(numbers, batch.blocks.shape[1] - 1)
        used = numbers * self._size < lengths
        blocks = np.where(used, np.take_along_axis(batch.blocks[members], clipped, axis=1), self._nothing)
        positions = (first * self._size + np.arange(numbers.shape[1] * self._size))[:, None]
        mask = (positions >= begins[..., None]) & (positions <= last[..., None])
        rows = batch.starts[members].astype(np.int64)[:, None] + token
        return SequenceGroup(self._tensor(rows), self._tensor(blocks.ravel().astype(np.int64)), self._tensor(mask))

    def _chunk(self, batch: Batch, s: int, window: int | None) -> SequenceGroup:
        start, end, length = int(batch.starts[s]), int(batch.starts[s + 1]), int(batch.lengths[s])
        past = length - (end - start)
        first = 0 if window is None else max(past + 1 - window, 0) // self._size
        blocks = batch.blocks[s, first : -(-length // self._size)].astype(np.int64)
        shape, shift = (end - start, length - first * self._size), past - first * self._size
        mask = torch.ones(shape, dtype=torch.bool, device=self._cache.device).tril(shift)
        if window is not None:
            mask = mask.triu(shift + 1 - window)
        return SequenceGroup(self._tensor(np.arange(start, end)), self._tensor(blocks), mask)

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
