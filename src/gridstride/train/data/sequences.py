"""Packed sequences in an order that follows from (seed, step) alone.

The stream of tokens is cut into windows of one length; an epoch is a permutation of them. Which windows make up the
global batch of a step depends on nothing else, so that a run that goes on after a stop, or with another number of
ranks, sees the very same batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

Tokens = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSampler:
    """Batches of `batch` windows of `sequence` tokens, split evenly over `world` ranks."""

    tokens: Tokens
    sequence: int
    batch: int
    seed: int
    rank: int = 0
    world: int = 1

    def __post_init__(self) -> None:
        if self.batch % self.world:
            raise ValueError(f"a batch of {self.batch} sequences does not split over {self.world} ranks")
        if self.windows < 1:
            raise ValueError(f"{len(self.tokens)} tokens make no window of {self.sequence}")

    @property
    def windows(self) -> int:
        """Windows of an epoch: one fewer than fit, as each epoch begins at a place of its own."""
        return max(len(self.tokens) // self.sequence - 1, 0)

    def numbers(self, step: int) -> list[tuple[int, int]]:
        """(epoch, window) of each sequence of this rank's share of a step's batch."""
        share = self.batch // self.world
        first = step * self.batch + self.rank * share
        return [divmod(number, self.windows) for number in range(first, first + share)]

    def rows(self, step: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets, each [batch / world, sequence] of int64."""
        starts = [self._start(epoch, window) for epoch, window in self.numbers(step)]
        rows = np.stack([self.tokens[start : start + self.sequence + 1] for start in starts]).astype(np.int64)
        windows = torch.from_numpy(rows)
        return windows[:, :-1], windows[:, 1:]

    def _start(self, epoch: int, window: int) -> int:
        order, shift = _epoch(self.seed, epoch, self.windows, self.sequence)
        return int(order[window]) * self.sequence + shift


def row_numbers(step: int, *, count: int, batch: int, seed: int, rank: int = 0, world: int = 1) -> list[int]:
    """Which of `count` rows are this rank's share of a step's batch; an epoch is a permutation of all."""
    share = batch // world
    first = step * batch + rank * share
    numbers = [divmod(number, count) for number in range(first, first + share)]
    return [int(_epoch(seed, epoch, count, 1)[0][index]) for epoch, index in numbers]


_orders: dict[tuple[int, int, int, int], tuple[Tokens, int]] = {}  # a cache: the two epochs that a batch may touch


def _epoch(seed: int, epoch: int, windows: int, sequence: int) -> tuple[Tokens, int]:
    key = (seed, epoch, windows, sequence)
    if key not in _orders:
        while len(_orders) > 3:
            del _orders[next(iter(_orders))]
        generator = np.random.Generator(np.random.PCG64([seed, epoch]))
        _orders[key] = generator.permutation(windows), int(generator.integers(sequence))
    return _orders[key]


def windows_in_order(tokens: Tokens, *, sequence: int, batch: int, most: int | None = None) -> Iterator[Tensor]:
    """All tokens once, in windows [n <= batch, sequence + 1] that share one token with the next; the rest is left.

    With `most`, only that many windows, spread evenly.
    """
    count = (len(tokens) - 1) // sequence
    chosen = np.arange(count) if most is None or most >= count else np.linspace(0, count - 1, most).astype(int)
    for begin in range(0, len(chosen), batch):
        rows = [tokens[i * sequence : i * sequence + sequence + 1] for i in chosen[begin : begin + batch]]
        yield torch.from_numpy(np.stack(rows).astype(np.int64))
