"""Validation: mean loss per token over held-out text, and what that is in bits per byte."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from gridstride.train.data import Tokens, windows_in_order
from gridstride.train.prepare import Prepared

Loss = Callable[[Tensor, Tensor], Tensor]
"""(inputs [B, T], targets [B, T]) -> mean loss in nats per token."""


@torch.no_grad()  # type: ignore[untyped-decorator]
def mean_loss(loss: Loss, tokens: Tokens, *, sequence: int, batch: int, most: int | None) -> float:
    """Nats per token, in windows that begin without context; `most`: only so many windows, evenly spread."""
    total, count = torch.zeros((), dtype=torch.float64), 0
    for rows in windows_in_order(tokens, sequence=sequence, batch=batch, most=most):
        total += loss(rows[:, :-1], rows[:, 1:]).double().cpu() * len(rows)
        count += len(rows)
    return float(total / count)


def bits_per_byte(nats_per_token: float, prepared: Prepared) -> float:
    """The same loss in a unit that does not depend on the tokenizer."""
    return nats_per_token / math.log(2) * prepared.validation_tokens / prepared.validation_bytes
