"""What a step's rows are drawn by, and what is read of its prompts."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gridstride.serve.engine.batch import Draw, Read
from gridstride.serve.engine.request import Request

Mask = NDArray[np.uint32]


def draws_of(request: Request, vocabulary: int) -> list[Draw]:
    """Of a request's next token; and, as if each of the proposed ones had been drawn, of the one after it."""
    if request.proposed:
        return list(_draws_along(request, vocabulary))
    mask = _late(request, 0, request.grammar.mask() if request.grammar else None, vocabulary)
    return [Draw(request.sampling, len(request.output) + request.coming, request.prompt, request.output, mask)]


def _draws_along(request: Request, vocabulary: int) -> Iterator[Draw]:
    masks = request.grammar.masks(request.proposed) if request.grammar else None
    for count in range(len(request.proposed) + 1):
        output = request.output + array("q", request.proposed[:count])
        mask = _late(request, count, None if masks is None else masks[count], vocabulary)
        yield Draw(request.sampling, len(output), request.prompt, output, mask)


def _late(request: Request, more: int, mask: Mask | None, vocabulary: int) -> Mask | None:
    """The mask, in which nothing ends the text before its `min_tokens`."""
    if len(request.output) + more < request.sampling.min_tokens:
        return _without(request.stops, mask, vocabulary)
    return mask


def _without(stops: frozenset[int], mask: Mask | None, vocabulary: int) -> Mask | None:
    """The mask without the tokens that end a text; with them where a schema allows nothing else."""
    words = np.full(-(-vocabulary // 32), 0xFFFFFFFF, np.uint32) if mask is None else mask.copy()
    for token in (stop for stop in stops if stop < vocabulary):
        words[token // 32] &= np.uint32(~(1 << token % 32) & 0xFFFFFFFF)
    return words if words.any() else mask


def reads_of(work: Sequence[tuple[Request, int]]) -> tuple[Read, ...]:
    reads = [
        request.reading(index, count)
        for index, (request, count) in enumerate(work)
        if request.sampling.reads and request.unread > 0
    ]
    return tuple(read for read in reads if read is not None)
