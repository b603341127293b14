"""Tokens guessed from a text's own past."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.serve.engine.ngram import LEAST, MOST, propose

TEXTS = st.lists(st.integers(0, 3), min_size=1, max_size=60)


def guessed(tokens: list[int], count: int = 4) -> list[int]:
    return propose(array("q", tokens), count)


def test_what_followed_the_same_tokens_before_is_proposed() -> None:
    assert guessed([9, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3]) == [4, 5, 6, 7]


def test_a_text_without_a_match_proposes_nothing() -> None:
    assert guessed(list(range(20))) == []
    assert guessed([7]) == []


def test_fewer_equal_tokens_than_the_least_are_no_match() -> None:
    assert guessed([1, 2, 8, 9, 1, 2]) == []


def test_a_longer_match_goes_before_a_later_one() -> None:
    assert guessed([5, 1, 2, 3, 40, 6, 1, 2, 3, 50, 5, 1, 2, 3], 1) == [40]


def test_of_equally_long_matches_the_latest_counts() -> None:
    assert guessed([1, 2, 3, 40, 7, 1, 2, 3, 50, 8, 1, 2, 3], 1) == [50]


@pytest.mark.parametrize("period", [1, 2, 3, 5])
def test_a_text_of_a_short_period_goes_on_with_it(period: int) -> None:
    text = [i % period for i in range(40)]
    assert guessed(text[:20], 20) == text[20:]


@given(TEXTS, st.integers(1, 8))
def test_a_proposal_is_what_a_search_from_the_end_finds(tokens: list[int], count: int) -> None:
    assert guessed(tokens, count) == searched(tokens, count)


def searched(tokens: list[int], count: int) -> list[int]:
    """The same, place by place."""
    for size in range(MOST, LEAST - 1, -1):
        for end in range(len(tokens) - 1, size - 1, -1):
            if tokens[end - size : end] == tokens[-size:]:
                return (tokens[end:] * count)[:count]
    return []
