"""Validation: mean loss per token over held-out text, and what that is in bits per byte."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from gridstride.train.data.prepare import Prepared
from gridstride.train.data.sequences import Tokens, windows_in_order
from gridstride.train.distributed.parallel import Parallel

Loss = Callable[[Tensor, Tensor], Tensor]
"""(inputs [B, T], targets [B, T]) -> mean loss in nats per token."""


@torch.no_grad()
def mean_loss(
    loss: Loss, tokens: Tokens, *, sequence: int, batch: int, most: int | None, parallel: Parallel | None = None
) -> float:
    """Nats per token, in windows that begin without context; `most`: only so many windows, evenly spread.

    With `parallel` ranks take batches in turns. All compute equally often, idle ones in the last turn in vain.
    """
    rank, world = (parallel.data_rank, parallel.data_world) if parallel else (0, 1)
    sums = torch.zeros(2, dtype=torch.float64)
    batches = list(windows_in_order(tokens, sequence=sequence, batch=batch, most=most))
    for turn in range(0, len(batches), world):
        mine = turn + rank < len(batches)
        rows = batches[turn + rank] if mine else batches[turn]
        each = loss(rows[:, :-1], rows[:, 1:]).double().cpu()
        sums += torch.stack((each, torch.ones_like(each))) * (len(rows) if mine else 0)
    total, count = parallel.total(sums) if parallel else sums
    return float(total / count)


def bits_per_byte(nats_per_token: float, prepared: Prepared) -> float:
    """The same loss in a unit that does not depend on the tokenizer."""
    return nats_per_token / math.log(2) * prepared.validation_tokens / prepared.validation_bytes
