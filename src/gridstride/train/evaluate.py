"""Validation: mean loss over what is held out, and what that is in bits per byte of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from gridstride.train.data.prepare import TokenisedText
from gridstride.train.distributed.parallel import ParallelDecoder
from gridstride.train.task import RankBatch

Loss = Callable[..., Tensor]
"""Rows' tensors -> their mean loss."""


@torch.no_grad()
def mean_loss(loss: Loss, batches: Sequence[RankBatch], parallel: ParallelDecoder | None = None) -> float:
    """The mean over all rows, by their weights.

    With `parallel` ranks take batches in turns. All compute equally often, idle ones in the last turn in vain.
    """
    rank, world = (parallel.data_rank, parallel.data_world) if parallel else (0, 1)
    sums = torch.zeros(2, dtype=torch.float64)
    for turn in range(0, len(batches), world):
        mine = turn + rank < len(batches)
        batch = batches[turn + rank] if mine else batches[turn]
        losses = loss(*batch.tensors).double().cpu()
        sums += torch.stack((losses, torch.ones_like(losses))) * (sum(batch.weights) if mine else 0)
    total, count = parallel.total(sums) if parallel else sums
    return float(total / count)


def bits_per_byte(nats_per_token: float, prepared: TokenisedText) -> float:
    """The same loss in a unit that does not depend on the tokenizer."""
    return nats_per_token / math.log(2) * prepared.validation_tokens / prepared.validation_bytes
