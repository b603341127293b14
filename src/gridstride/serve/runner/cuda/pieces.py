"""Prompts of several sequences cut into pieces of so many queries, which attention takes one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridstride.serve.engine.batch import I32


@dataclass(frozen=True, slots=True)
class QueryPieces:
    """P pieces, in the order of the rows of queries."""

    owner: I32  # [P] which sequence
    first: I32  # [P] row of the first query
    count: I32  # [P] queries
    visible_keys: I32  # [P] keys that the last query sees


def cut(starts: I32, lengths: I32, most: int) -> QueryPieces:
    """Pieces of up to `most` queries of sequences with rows `starts` [S + 1], of `lengths` [S] with what is before."""
    counts = np.diff(starts)
    pieces = -(-counts // most)
    owner = np.repeat(np.arange(len(counts)), pieces)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    begin = number * most
    end = np.minimum(begin + most, counts[owner])
    columns = owner, starts[:-1][owner] + begin, end - begin, (lengths - counts)[owner] + end
    return QueryPieces(*(column.astype(np.int32) for column in columns))


def room(tokens: int, sequences: int, most: int) -> int:
    """Pieces that so many sequences with so many tokens together have at most."""
    return tokens // most + sequences
