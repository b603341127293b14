"""A batch in parts: sequences with one new token, which a graph decodes, and chunks of prompts in passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridstride.serve.engine.batch import I32, I64, Batch, Reading, Sampled, TokenLogprobs

Mask = NDArray[np.bool_]
ANY = 1 << 62
"""A limit of what is not limited."""


@dataclass(frozen=True, slots=True)
class PassLimits:
    """What a pass over prompts may have at most, if it has more than one sequence."""

    tokens: int
    keys: int
    sequences: int  # one from which several tokens are drawn counts as so many


@dataclass(frozen=True, slots=True)
class BatchPart:
    """Some sequences of a batch. `draws` is where its draws stand among those of the batch."""

    batch: Batch
    draws: I64
    decoding: bool  # each sequence has one new token
    reads: I64  # where its reads stand among those of the batch


def parts(batch: Batch, *, decoding: int, prompts: PassLimits) -> Iterator[BatchPart]:
    """First the sequences with one new token, at most `decoding` at a time, then others, then those that are read."""
    counts = np.diff(batch.starts)
    read = np.zeros(len(counts), bool)
    read[[read.sequence for read in batch.reads]] = True
    single = np.flatnonzero((counts == 1) & ~read)
    for start in range(0, len(single), decoding):
        yield _part(batch, single[start : start + decoding], decoding=True)
    draws = np.bincount(np.searchsorted(batch.starts, batch.sampled, side="right") - 1, minlength=len(counts))
    for chosen in ((counts > 1) & ~read, read):
        for group in _groups(np.flatnonzero(chosen), counts, batch.lengths, np.maximum(draws, 1), prompts):
            yield _part(batch, group, decoding=False)


def _groups(
    sequences: NDArray[np.integer[Any]], counts: I32, lengths: I32, draws: I64, limits: PassLimits
) -> Iterator[I64]:
    """These sequences, in their order, cut where the next one would be too much."""
    group: list[int] = []
    most = np.array([limits.tokens, limits.keys, limits.sequences])
    total = np.zeros(3, np.int64)
    for s in sequences.tolist():
        sizes = np.array([counts[s], lengths[s], draws[s]])
        total += sizes
        if group and (total > most).any():
            yield np.array(group)
            group, total = [], sizes
        group.append(s)
    if group:
        yield np.array(group)


def _part(batch: Batch, sequences: I64, *, decoding: bool) -> BatchPart:
    steps = batch.steps if decoding else 1
    if len(sequences) == len(batch.lengths):
        full_batch = batch if batch.steps == steps else replace(batch, steps=steps)
        return BatchPart(full_batch, np.arange(len(batch.draws)), decoding, np.arange(len(batch.reads)))
    counts = np.diff(batch.starts)
    chosen = np.zeros(len(counts), bool)
    chosen[sequences] = True
    rows = np.repeat(chosen, counts)
    draws = np.flatnonzero(rows[batch.sampled])
    last_rows = np.cumsum(rows) - 1
    numbers = np.cumsum(chosen) - 1
    reads = [i for i, read in enumerate(batch.reads) if chosen[read.sequence]]
    piece = Batch(
        tokens=batch.tokens[rows],
        positions=batch.positions[rows],
        slots=batch.slots[rows],
        starts=np.concatenate(([0], np.cumsum(counts[chosen]))).astype(np.int32),
        lengths=batch.lengths[chosen],
        blocks=batch.blocks[chosen],
        sampled=last_rows[batch.sampled[draws]].astype(np.int32),
        draws=tuple(batch.draws[i] for i in draws.tolist()),
        steps=steps,
        sources=None if batch.sources is None else batch.sources[sequences],
        reads=tuple(replace(batch.reads[i], sequence=int(numbers[batch.reads[i].sequence])) for i in reads),
    )
    return BatchPart(piece, draws, decoding, np.array(reads, np.int64))


def joined(results: list[tuple[Sampled, BatchPart]], *, steps: int) -> Sampled:
    """What the parts gave, each draw and each reading at its place among all; -1 behind what took fewer steps."""
    if len(results) == 1 and results[0][0].tokens.shape[1] == steps:
        return results[0][0]
    count = sum(len(part.draws) for _, part in results)
    tokens = np.full((count, steps), -1, np.int64)
    logprobs: list[tuple[TokenLogprobs, ...] | None] = [None] * count
    readings: dict[int, Reading] = {}
    for sampled, part in results:
        tokens[part.draws, : sampled.tokens.shape[1]] = sampled.tokens
        for i, row_logprobs in zip(part.draws.tolist(), sampled.logprobs, strict=True):
            logprobs[i] = row_logprobs
        readings.update(zip(part.reads.tolist(), sampled.readings, strict=True))
    return Sampled(tokens, tuple(logprobs), tuple(readings[i] for i in sorted(readings)))
