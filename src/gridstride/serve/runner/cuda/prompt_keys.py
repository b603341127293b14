"""How a pass over prompts reads keys and values: in the cache by block tables, or gathered from it layer by layer."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from gridstride.kernels.prompt_attention.op import piece_queries, prompt_attention
from gridstride.serve.engine.batch import I32, I64, Batch
from gridstride.serve.runner.cuda.fused import Look
from gridstride.serve.runner.cuda.host_copy import Packet
from gridstride.serve.runner.cuda.packed_attention import PIECE, Pieces, packed_attention
from gridstride.serve.runner.cuda.pieces import cut, room


class PromptKeys(Protocol):
    """Of one pass. The host tells it about a batch by a packet's last fields, which are `fields`."""

    fields: dict[str, tuple[str, int]]

    def put(self, packet: Packet, batch: Batch) -> int:
        """A batch into the host's side; how many of the packet's last bytes need not be sent."""
        ...

    def look(self, packet: Packet) -> Look:
        """Attention over a layer's cache, for all layers of a pass."""
        ...


class PagedKeys:
    """Read where they lie, by prompt_attention: pieces, and tables with a row of `width` blocks for each sequence."""

    def __init__(self, *, tokens: int, sequences: int, group: int, width: int, scale: float) -> None:
        self._most, self._width, self._scale = piece_queries(group), width, scale
        self.fields = {
            "pieces": ("int32", 4 * room(tokens, sequences, self._most)),
            "tables": ("int32", sequences * width),
        }

    def put(self, packet: Packet, batch: Batch) -> int:
        """Tables of the batch's sequences alone are sent: of most rows nothing is read."""
        query_pieces = cut(batch.starts, batch.lengths, self._most)
        longest = np.argsort(-query_pieces.visible_keys, kind="stable")
        pieces, tables = (
            packet.host_fields["pieces"].reshape(-1, 4),
            packet.host_fields["tables"].reshape(-1, self._width),
        )
        pieces[: len(longest)] = np.stack(
            (query_pieces.first, query_pieces.count, query_pieces.owner, query_pieces.visible_keys), axis=1
        )[longest]
        pieces[len(longest) :] = 0
        sequences, used = batch.blocks.shape
        tables[:sequences, :used] = batch.blocks
        return tables[sequences:].nbytes

    def look(self, packet: Packet) -> Look:
        pieces, tables = (
            packet.device_fields["pieces"].view(-1, 4),
            packet.device_fields["tables"].view(-1, self._width),
        )
        return lambda q, keys, values: prompt_attention(q, keys, values, tables, pieces, scale=self._scale)


class GatheredKeys:
    """Copied from the cache in front of packed_attention, with room for so many `keys` of so many heads."""

    def __init__(
        self, *, tokens: int, sequences: int, keys: int, heads: int, block_size: int, scale: float
    ) -> None:  # fmt: skip
        self._heads, self._block_size, self._scale = heads, block_size, scale
        pieces = room(tokens, sequences, PIECE)
        self.fields = {
            "seen_slots": ("int64", keys), "piece_queries": ("int32", pieces + 1), "piece_keys": ("int32", pieces + 1),
            "piece_seen": ("int32", pieces),
        }  # fmt: skip

    def put(self, packet: Packet, batch: Batch) -> int:
        """All is sent."""
        query_pieces = cut(batch.starts, batch.lengths, PIECE)
        begins = np.cumsum(batch.lengths) - batch.lengths
        packet.put(seen_slots=slots_of(batch.blocks, batch.lengths, self._block_size))
        packet.put(piece_queries=query_pieces.first, fill=int(batch.starts[-1]))
        packet.put(piece_keys=begins[query_pieces.owner], piece_seen=query_pieces.visible_keys)
        return 0

    def look(self, packet: Packet) -> Look:
        field, rows = packet.device_fields, self.rows(packet)
        pieces = Pieces(field["piece_queries"], field["piece_keys"], field["piece_seen"])

        def attention(q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            k, v = (
                cache.view(-1, cache.shape[-1]).index_select(0, rows).view(-1, self._heads, cache.shape[-1])
                for cache in (keys, values)
            )
            return packed_attention(q, k, v, pieces, scale=self._scale)

        return attention

    def rows(self, packet: Packet) -> Tensor:
        """[keys * heads] rows of a layer's cache [blocks, heads, block_size, D] where the keys lie, token by token."""
        slots = packet.device_fields["seen_slots"]
        block, offset = slots // self._block_size, slots % self._block_size
        head = torch.arange(self._heads, device=slots.device)
        return ((block[:, None] * self._heads + head) * self._block_size + offset[:, None]).flatten()


def slots_of(blocks: I32, lengths: I32, block_size: int) -> I64:
    """Cache slots of all tokens of sequences, one sequence behind the other."""
    owner = np.repeat(np.arange(len(lengths)), lengths)
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return blocks[owner, offset // block_size].astype(np.int64) * block_size + offset % block_size
