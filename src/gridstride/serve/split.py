"""A batch in parts: the sequences that a graph can decode, and those that it cannot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gridstride.serve.batch import I32, Batch, Sampled, TokenLogprobs
from gridstride.serve.sampling import Sampling


def drawn_on_device(s: Sampling) -> bool:
    """Whether a token can be drawn without knowing what was said before."""
    touched = s.logit_bias or s.presence_penalty or s.frequency_penalty or s.repetition_penalty != 1.0
    return not touched and s.logprobs is None and s.schema is None


def decodable(batch: Batch) -> NDArray[np.bool_]:
    """[S] sequences with one new token whose next one can be drawn on the device."""
    found = np.zeros(len(batch.lengths), bool)
    simple = [drawn_on_device(draw.sampling) and draw.mask is None for draw in batch.draws]
    rows = batch.sampled[np.array(simple, bool)]
    owners = np.searchsorted(batch.starts, rows, side="right") - 1
    found[owners] = np.diff(batch.starts)[owners] == 1
    return found


def part(batch: Batch, chosen: NDArray[np.bool_]) -> tuple[Batch, NDArray[np.int64]]:
    """The batch of the chosen sequences [S], and where its draws stand among all."""
    counts = np.diff(batch.starts)
    rows = np.repeat(chosen, counts)
    draws = np.flatnonzero(rows[batch.sampled])
    places = np.cumsum(rows) - 1
    return Batch(
        tokens=batch.tokens[rows],
        positions=batch.positions[rows],
        slots=batch.slots[rows],
        starts=_starts(counts[chosen]),
        lengths=batch.lengths[chosen],
        blocks=batch.blocks[chosen],
        sampled=places[batch.sampled[draws]].astype(np.int32),
        draws=tuple(batch.draws[i] for i in draws.tolist()),
        steps=batch.steps,
    ), draws


def joined(parts: list[tuple[Sampled, NDArray[np.int64]]]) -> Sampled:
    """What the parts gave, each draw at its place among all."""
    count = sum(len(draws) for _, draws in parts)
    steps = parts[0][0].tokens.shape[1]
    tokens = np.empty((count, steps), np.int64)
    logprobs: list[tuple[TokenLogprobs, ...] | None] = [None] * count
    for sampled, draws in parts:
        tokens[draws] = sampled.tokens
        for i, given in zip(draws.tolist(), sampled.logprobs, strict=True):
            logprobs[i] = given
    return Sampled(tokens, tuple(logprobs))


def _starts(counts: I32) -> I32:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
