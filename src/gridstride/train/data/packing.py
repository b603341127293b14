"""Examples side by side in rows of one length, so that hardly a place is empty, and none sees another."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gridstride.train.data.conversations import PreferencePair, TrainingExample

IGNORED = -100  # a target that has no loss, as PyTorch's cross entropy has it
_STEP = 64  # pairs are padded to multiples: matrix products are slow at odd sizes


@dataclass(frozen=True, slots=True)
class PackedRow:
    """[T] each: the next token where it is an answer's, the place in its example, and which example (-1: none)."""

    tokens: NDArray[np.int64]
    targets: NDArray[np.int64]
    positions: NDArray[np.int64]
    segments: NDArray[np.int64]

    @property
    def learned(self) -> int:
        """Tokens that have a loss."""
        return int((self.targets != IGNORED).sum())


def packed(examples: Sequence[TrainingExample], length: int) -> list[PackedRow]:
    """Rows of `length` tokens: each example into the fullest row that has room for it, the longest first."""
    order = sorted(range(len(examples)), key=lambda i: -len(examples[i].tokens))
    rows: list[list[TrainingExample]] = []
    room: list[tuple[int, int]] = []  # of each row that has some, with the row's number; the least first
    for i in order:
        size = len(examples[i].tokens)
        at = bisect.bisect_left(room, (size, -1))
        free, number = room.pop(at) if at < len(room) else (length, len(rows))
        if number == len(rows):
            rows.append([])
        rows[number].append(examples[i])
        if free > size:
            bisect.insort(room, (free - size, number))
    return [_row(row, length) for row in rows]


def _row(examples: Sequence[TrainingExample], length: int) -> PackedRow:
    row = PackedRow(*(np.full(length, fill, np.int64) for fill in (0, IGNORED, 0, -1)))
    start = 0
    for number, example in enumerate(examples):
        end = start + len(example.tokens)
        row.tokens[start:end] = example.tokens
        row.targets[start : end - 1] = _targets(example)
        row.positions[start:end] = np.arange(end - start)
        row.segments[start:end] = number
        start = end
    return row


def _targets(example: TrainingExample) -> NDArray[np.int64]:
    """What follows each token but the last, where that is an answer's."""
    return np.where(example.answer[1:], example.tokens[1:], IGNORED).astype(np.int64)


def stacked(rows: Sequence[PackedRow]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Tokens, targets, positions and segments, each [rows, T]."""
    tokens, targets, positions, segments = (
        torch.from_numpy(np.stack([getattr(row, name) for row in rows]))
        for name in ("tokens", "targets", "positions", "segments")
    )
    return tokens, targets, positions, segments


def paired(pairs: Sequence[PreferencePair], most: int) -> tuple[Tensor, Tensor]:
    """Tokens and targets [pairs, 2, T <= most], the chosen answer first.

    They are filled up behind their ends, where nobody looks.
    """
    length = min(-(-max(pair.length for pair in pairs) // _STEP) * _STEP, most)
    tokens = np.zeros((len(pairs), 2, length), np.int64)
    targets = np.full((len(pairs), 2, length), IGNORED, np.int64)
    for row, pair in enumerate(pairs):
        for side, example in enumerate((pair.chosen, pair.rejected)):
            tokens[row, side, : len(example.tokens)] = example.tokens
            targets[row, side, : len(example.tokens) - 1] = _targets(example)
    return torch.from_numpy(tokens), torch.from_numpy(targets)
