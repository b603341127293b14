"""What a recorded pass over prompts reads and writes: chunks of several sequences in one row, filled up to its size."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gridstride.serve.engine.batch import I32, I64, Batch
from gridstride.serve.runner.cuda.graph_inputs import WISHES, put_draws
from gridstride.serve.runner.cuda.host_copy import Packet
from gridstride.serve.runner.cuda.packed_attention import PIECE, Pieces, room

TOKENS = (64, 128, 256, 384, 512, 768, 1024, 1536, 2048)
"""New tokens of a recorded pass; a batch is filled up to the next one."""
MOST_KEYS = 1 << 15
"""Keys of a pass, gathered from the cache layer by layer; a single sequence may have more."""
_MORE_KEYS = 4  # times the tokens, for chunks behind what is in the cache already; then so many times that
MOST_SEQUENCES = 128
"""Sequences of a pass: their logits are wanted together."""
_TOKENS_EACH = 8  # of a sequence in a full pass; a pass with shorter ones takes the next larger size
_LEAST_SEQUENCES = (
    16  # that any size has room for: their logits cost no more than one's, for which all weights are read
)


@dataclass(frozen=True, slots=True)
class Size:
    """Room of a pass."""

    tokens: int
    keys: int
    sequences: int  # or tokens to be drawn, where one sequence has several of them


def needed(batch: Batch) -> Size:
    return Size(len(batch.tokens), int(batch.lengths.sum()), max(len(batch.lengths), len(batch.draws)))


def recorded(needed: Size, tokens: Sequence[int]) -> Size | None:
    """The smallest size to be recorded that has room; None where there is none."""
    for token in tokens[bisect.bisect_left(tokens, needed.tokens) :]:
        size = sized(token, keys=needed.keys)
        if needed.sequences <= size.sequences and size.keys <= max(MOST_KEYS, token):
            return size
    return None


def sized(tokens: int, *, keys: int = 0) -> Size:
    """What is recorded for so many tokens, with room for so many keys."""
    room = tokens
    while room < keys:
        room *= _MORE_KEYS
    return Size(tokens, room, min(MOST_SEQUENCES, max(_LEAST_SEQUENCES, tokens // _TOKENS_EACH)))


class Prompts:
    """Inputs of a pass of a size, and the tokens drawn. Tokens behind the batch's are written to the block `spare`."""

    def __init__(self, size: Size, *, spare: int, block_size: int, logits: Tensor, device: torch.device) -> None:
        self.size, self.logits, self.block_size = size, logits, block_size
        self._spare = spare * block_size
        pieces = room(size.tokens, size.sequences)
        self._packet = Packet(
            {"tokens": ("int64", size.tokens), "positions": ("int64", size.tokens), "slots": ("int64", size.tokens),
             "seen_slots": ("int64", size.keys), "last": ("int64", size.sequences),
             "uniform": ("float64", size.sequences), "piece_queries": ("int32", pieces + 1),
             "piece_keys": ("int32", pieces + 1), "piece_seen": ("int32", pieces),
             **{name: (dtype, size.sequences) for name, dtype in WISHES.items()}},
            device,
        )  # fmt: skip
        self.field = field = self._packet.there
        self.pieces = Pieces(field["piece_queries"], field["piece_keys"], field["piece_seen"])
        self.drawn = torch.zeros((1, size.sequences), dtype=torch.int64, device=device)
        self._put(slots=np.empty(0, np.int64), fill=self._spare)
        self._packet.send()

    def fill(self, batch: Batch) -> None:
        """Put a batch that has room here in place; whoever filled it before has waited for the tokens since."""
        queries, keys, seen = cut(batch.starts, batch.lengths)
        self._put(tokens=batch.tokens, positions=batch.positions, last=batch.sampled)
        self._put(slots=batch.slots, fill=self._spare)
        self._put(seen_slots=slots_of(batch.blocks, batch.lengths, self.block_size))
        self._put(piece_queries=queries, fill=int(queries[-1]))
        self._put(piece_keys=keys, piece_seen=seen)
        put_draws(self._packet, batch.draws, self.drawn_from(batch), steps=1)
        self._packet.send()

    def drawn_from(self, batch: Batch) -> I32:
        """Rows of the batch's draws, of `drawn` [1, rows] and `logits`."""
        return np.arange(len(batch.draws), dtype=np.int32)

    def _put(self, *, fill: int = 0, **arrays: NDArray[np.generic]) -> None:
        for name, array in arrays.items():
            view = self._packet.here[name]
            view[: len(array)], view[len(array) :] = array, fill

    def rows(self, heads: int) -> Tensor:
        """[keys * heads] rows of a layer's cache [blocks, heads, block_size, D] where the keys lie, token by token."""
        block, offset = self.field["seen_slots"] // self.block_size, self.field["seen_slots"] % self.block_size
        head = torch.arange(heads, device=block.device)
        return ((block[:, None] * heads + head) * self.block_size + offset[:, None]).flatten()


def cut(starts: I32, lengths: I32) -> tuple[I32, I32, I32]:
    """Pieces of sequences with rows `starts` [S + 1] of which `lengths` [S] tokens are in the cache then.

    Gives where each starts in the rows (and the end), where its sequence's keys start when all are packed, and how
    many of them its last query sees.
    """
    counts = np.diff(starts)
    pieces = -(-counts // PIECE)
    owner = np.repeat(np.arange(len(counts)), pieces)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    begin = number * PIECE
    end = np.minimum(begin + PIECE, counts[owner])
    queries = np.concatenate((starts[:-1][owner] + begin, starts[-1:]))
    keys = (np.cumsum(lengths) - lengths)[owner]
    seen = (lengths - counts)[owner] + end
    return queries.astype(np.int32), keys.astype(np.int32), seen.astype(np.int32)


def slots_of(blocks: I32, lengths: I32, block_size: int) -> I64:
    """Cache slots of all tokens of sequences, one sequence behind the other."""
    owner = np.repeat(np.arange(len(lengths)), lengths)
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return blocks[owner, offset // block_size].astype(np.int64) * block_size + offset % block_size
