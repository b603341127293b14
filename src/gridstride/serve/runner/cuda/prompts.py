"""What a recorded pass over prompts reads and writes: chunks of several sequences in one row, filled up to its size."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gridstride.serve.engine.batch import I32, Batch
from gridstride.serve.runner.cuda.fused import Look
from gridstride.serve.runner.cuda.graph_inputs import WISHES, put_draws
from gridstride.serve.runner.cuda.host_copy import Packet
from gridstride.serve.runner.cuda.prompt_keys import PromptKeys

TOKENS = (64, 128, 256, 384, 512, 768, 1024, 1536, 2048)
"""New tokens of a recorded pass; a batch is filled up to the next one."""
MOST_KEYS = 1 << 15
"""Keys of a pass where they are gathered from the cache layer by layer; a single sequence may have more."""
_MORE_KEYS = 4  # times the tokens, for chunks behind what is in the cache already; then so many times that
MOST_SEQUENCES = 128
"""Sequences of a pass: their logits are wanted together."""
_TOKENS_EACH = 8  # of a sequence in a full pass; a pass with shorter ones takes the next larger size
_LEAST_SEQUENCES = (
    16  # that any size has room for: their logits cost no more than one's, for which all weights are read
)


@dataclass(frozen=True, slots=True)
class PassSize:
    """Room of a pass."""

    tokens: int
    keys: int  # to be gathered; 0 where they are read in the cache
    sequences: int  # or tokens to be drawn, where one sequence has several of them


def needed(batch: Batch, *, gathered: bool) -> PassSize:
    """Of a batch whose keys are gathered, or read in the cache."""
    keys = int(batch.lengths.sum()) if gathered else 0
    return PassSize(len(batch.tokens), keys, max(len(batch.lengths), len(batch.draws)))


def recorded(needed: PassSize, tokens: Sequence[int]) -> PassSize | None:
    """The smallest size to be recorded that has room; None where there is none."""
    for token in tokens[bisect.bisect_left(tokens, needed.tokens) :]:
        size = sized(token, keys=needed.keys)
        if needed.sequences <= size.sequences and size.keys <= max(MOST_KEYS, token):
            return size
    return None


def sized(tokens: int, *, keys: int) -> PassSize:
    """What is recorded for so many tokens, with room for so many keys; 0: none are gathered."""
    room = tokens if keys else 0
    while room < keys:
        room *= _MORE_KEYS
    return PassSize(tokens, room, min(MOST_SEQUENCES, max(_LEAST_SEQUENCES, tokens // _TOKENS_EACH)))


class PromptInputs:
    """Inputs of a pass of a size, and the tokens drawn. Tokens behind the batch's are written to the block `spare`."""

    def __init__(
        self, size: PassSize, keys: PromptKeys, *, spare: int, block_size: int, logits: Tensor, device: torch.device
    ) -> None:
        self.size, self.logits, self._keys = size, logits, keys
        self._spare = spare * block_size
        self._packet = Packet(
            {"tokens": ("int64", size.tokens), "positions": ("int64", size.tokens), "slots": ("int64", size.tokens),
             "last": ("int64", size.sequences), "uniform": ("float64", size.sequences),
             **{name: (dtype, size.sequences) for name, dtype in WISHES.items()}, **keys.fields},
            device,
        )  # fmt: skip
        self.field = self._packet.device_fields
        self.drawn = torch.zeros((1, size.sequences), dtype=torch.int64, device=device)
        self._packet.put(slots=np.empty(0, np.int64), fill=self._spare)
        self._packet.send()

    def fill(self, batch: Batch) -> None:
        """Put a batch that has room here in place."""
        self._packet.put(tokens=batch.tokens, positions=batch.positions, last=batch.sampled)
        self._packet.put(slots=batch.slots, fill=self._spare)
        put_draws(self._packet, batch.draws, self.drawn_from(batch), steps=1)
        self._packet.send(without=self._keys.put(self._packet, batch))

    def look(self) -> Look:
        """Attention of a pass with what is in place."""
        return self._keys.look(self._packet)

    def drawn_from(self, batch: Batch) -> I32:
        """Rows of the batch's draws, of `drawn` [1, rows] and `logits`."""
        return np.arange(len(batch.draws), dtype=np.int32)
