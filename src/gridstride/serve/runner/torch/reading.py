"""What is wanted of a prompt's tokens: how likely each was after those before it, or a hidden state of them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from gridstride.serve.engine.batch import I64, Batch, Read, Reading, TokenLogprobs

_LOGITS_AT_ONCE = 1 << 24
"""Numbers: a prompt's logits all together would take gigabytes."""


def readings(batch: Batch, hidden: Tensor, logits: Callable[[Tensor], Tensor]) -> tuple[Reading, ...]:
    """Of the batch's reads, from hidden states [N, width]; `logits` are made of rows of them."""
    return tuple(_reading(read, batch, hidden, logits) for read in batch.reads)


def _reading(read: Read, batch: Batch, hidden: Tensor, logits: Callable[[Tensor], Tensor]) -> Reading:
    first = int(batch.starts[read.sequence]) + read.first
    rows = hidden[first : first + read.count]
    if read.targets is not None:
        return tuple(_logprobs(rows, read.targets, read.top, logits))
    pooled = rows[-1] if read.pool == "last" else rows.sum(dim=0, dtype=torch.float32)
    vector: Reading = pooled.float().cpu().numpy()
    return vector


def _logprobs(hidden: Tensor, targets: I64, top: int, logits: Callable[[Tensor], Tensor]) -> Iterator[TokenLogprobs]:
    done, size = 0, 1
    while done < len(hidden):
        rows = logits(hidden[done : done + size]).float().log_softmax(dim=-1)
        yield from _of_rows(rows, torch.as_tensor(targets[done : done + size], device=rows.device), top)
        done, size = done + len(rows), max(1, _LOGITS_AT_ONCE // rows.shape[-1])


def _of_rows(logprobs: Tensor, targets: Tensor, top: int) -> Iterator[TokenLogprobs]:
    """Of rows [R, vocabulary] and the tokens that followed [R]."""
    own = logprobs.gather(-1, targets[:, None])
    ranks = (logprobs > own).sum(dim=-1) + 1
    values, ids = logprobs.topk(top)
    columns = (own[:, 0], values, ids, ranks)
    for mine, best, tokens, rank in zip(*(column.tolist() for column in columns), strict=True):
        yield TokenLogprobs(mine, tuple(zip(tokens, best, strict=True)), rank)
