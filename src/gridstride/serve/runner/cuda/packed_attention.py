"""Attention of prompts of several sequences in one call: keys and values packed, queries in pieces.

A piece is up to PIECE queries in a row of one sequence. To FlashAttention it is a sequence of its own, whose keys begin
at any row of the packed ones and end with those of its last query. So the grid is as large as the work however unequal
the prompts are, and its size hangs on the room for pieces alone: a graph recorded for one batch serves another.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

PIECE = 128
"""Queries: the height of FlashAttention-2's tiles for heads of up to 128 numbers."""
_FROM_BOTTOM_RIGHT = 2  # at::sdp::CustomMaskType: the last query sees the last key


@dataclass(frozen=True, slots=True)
class Pieces:
    """P pieces of queries [T, H, D] over keys [L, K, D]; an unused one has no query."""

    queries: Tensor  # int32 [P + 1] where each starts, and the end of the last
    keys: Tensor  # int32 [P + 1] where the keys of its sequence start; the last number means nothing
    visible_keys: Tensor  # int32 [P] keys that its last query sees


def packed_attention(q: Tensor, k: Tensor, v: Tensor, pieces: Pieces, *, scale: float) -> Tensor:
    """Causal softmax(scale q k) v [T, H, D] of q [T, H, D], k and v [L, K, D]; queries in no piece get anything."""
    if not q.is_cuda:
        return _piece_by_piece(q, k, v, pieces, scale)
    if q.dtype in (torch.float16, torch.bfloat16) and torch.cuda.get_device_capability(q.device) >= (8, 0):
        return _flash(q, k, v, pieces, scale)
    return _efficient(q, k, v, pieces, scale)


def _flash(q: Tensor, k: Tensor, v: Tensor, pieces: Pieces, scale: float) -> Tensor:
    """PyTorch's FlashAttention-2; `seqused_k` says how many keys a piece sees, whatever the starts say."""
    out: Tensor = torch.ops.aten._flash_attention_forward(
        q,
        k,
        v,
        pieces.queries,
        pieces.keys,
        PIECE,
        k.shape[0],
        0.0,
        True,
        False,
        scale=scale,
        seqused_k=pieces.visible_keys,
    )[0]
    return out


def _efficient(q: Tensor, k: Tensor, v: Tensor, pieces: Pieces, scale: float) -> Tensor:
    """PyTorch's memory-efficient attention, for fp32 and older GPUs; it knows nothing of grouped heads."""
    group = q.shape[1] // k.shape[1]
    k, v = (t.unsqueeze(2).expand(-1, -1, group, -1).flatten(1, 2).unsqueeze(0) for t in (k, v))
    out: Tensor = torch.ops.aten._efficient_attention_forward(
        q.unsqueeze(0), k, v, None, pieces.queries, pieces.keys, PIECE, k.shape[1], 0.0, _FROM_BOTTOM_RIGHT,
        scale=scale, seqlen_k=pieces.visible_keys,
    )[0]  # fmt: skip
    return out.squeeze(0)


def _piece_by_piece(q: Tensor, k: Tensor, v: Tensor, pieces: Pieces, scale: float) -> Tensor:
    out = torch.zeros_like(q)
    starts, keys, visible = pieces.queries.tolist(), pieces.keys.tolist(), pieces.visible_keys.tolist()
    for start, end, first, length in zip(starts, starts[1:], keys, visible, strict=False):  # `keys` has one more
        if start < end:
            mask = torch.ones((end - start, length), dtype=torch.bool).tril(length - (end - start))
            rows, key_rows = slice(start, end), slice(first, first + length)
            attended = F.scaled_dot_product_attention(
                _heads_first(q[rows]), _heads_first(k[key_rows]), _heads_first(v[key_rows]), attn_mask=mask,
                scale=scale,
                enable_gqa=q.shape[1] != k.shape[1],
            )  # fmt: skip
            out[rows] = attended[0].transpose(0, 1)
    return out


def _heads_first(x: Tensor) -> Tensor:
    """[1, H, T, D] of [T, H, D]."""
    return x.transpose(0, 1)[None]
