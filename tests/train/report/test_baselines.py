"""Counted baselines against their formula, symbol by symbol."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridstride.train.report.baselines import as_bytes, trigram_nats, unigram_nats

STREAM = st.lists(st.integers(0, 4), min_size=1, max_size=40)


def by_hand(train: list[int], held: list[int], symbols: int) -> float:
    """Witten and Bell's formula with dictionaries."""
    padded = [0, 0, *train]
    triples = list(zip(padded, padded[1:], padded[2:], strict=False))
    singles, total = Counter(train), 0.0

    def chance(context: tuple[int, ...], symbol: int) -> float:
        if not context:
            return (singles[symbol] + 1) / (len(train) + symbols)
        after = Counter(t[2] for t in triples if t[2 - len(context) : 2] == context)
        below = chance(context[1:], symbol)
        if not after:
            return below
        return (after[symbol] + len(after) * below) / (after.total() + len(after))

    wide = [0, 0, *held]
    for a, b, c in zip(wide, wide[1:], wide[2:], strict=False):
        total -= math.log(chance((a, b), c))
    return total / len(held)


@settings(deadline=None)
@given(train=STREAM, held=STREAM)
def test_the_trigram_is_witten_and_bells(train: list[int], held: list[int]) -> None:
    assert trigram_nats(np.array(train), np.array(held), symbols=5) == pytest.approx(by_hand(train, held, 5))


def test_a_text_that_repeats_is_foreseen() -> None:
    train = np.array([1, 2, 3] * 1000)
    assert trigram_nats(train, train[:300], symbols=5) < 0.02
    assert unigram_nats(train, train, symbols=5) == pytest.approx(math.log(3), abs=0.01)


def test_tokens_become_their_bytes() -> None:
    assert bytes(as_bytes(np.array([2, 0, 1, 2]), [b"", b"ab", b"\xff"])) == b"\xffab\xff"
