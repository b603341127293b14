"""Words for places in an output, and when values count as the right ones."""

from __future__ import annotations

import numpy as np
import pytest

from gridstride.judge.results.evidence import Pattern, is_tail, mostly_true, nearly_equal, span, were


def mask(*places: object, shape: tuple[int, ...] = (8,)) -> np.ndarray:
    marked = np.zeros(shape, bool)
    for place in places:
        marked[place] = True
    return marked


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        (mask(slice(None)), "all 8 elements"), (mask(0, shape=(1,)), "the result"), (mask(3), "element 3"),
        (mask(slice(2, 5)), "elements 2 to 4"), (mask(slice(5, 8)), "elements 5 to 7 (the last 3 of 8)"),
        (mask(1, 6), "2 of 8 elements, the first at 1,"), (mask((1, 2), shape=(4, 4)), "element (1, 2)"),
        (mask((3, slice(None)), shape=(4, 4)), "elements (3, 0) to (3, 3) (the last 4 of 16)"),
    ],
)  # fmt: skip
def test_elements_in_words(marked: np.ndarray, words: str) -> None:
    assert span(marked) == words


def test_a_tail_ends_at_the_end_and_is_not_all() -> None:
    assert is_tail(mask(slice(5, 8)))
    assert not is_tail(mask(slice(5, 7)))
    assert not is_tail(mask(slice(None)))
    assert not is_tail(mask())


def test_equal_values_everywhere_prove_nothing() -> None:
    ramp = np.arange(100.0)
    assert nearly_equal(ramp + 1e-5, ramp)
    assert not nearly_equal(ramp + 1, ramp)
    assert not nearly_equal(np.ones(100), np.ones(100))
    assert not nearly_equal(np.ones(1), np.ones(1))


def test_a_few_elements_may_be_others() -> None:
    ramp = np.arange(100.0)
    assert nearly_equal(np.where(ramp == 50, -1, ramp), ramp)
    assert not nearly_equal(np.where(ramp % 20 == 0, -1, ramp), ramp)


def test_one_was_and_two_were() -> None:
    assert (were(mask(1)), were(mask(1, 2))) == ("was", "were")
    assert mostly_true(mask(slice(0, 7)))
    assert not mostly_true(mask(slice(0, 6)))
    assert not mostly_true(np.zeros(0, bool))


def test_a_pattern_is_a_sentence_with_or_without_a_guess() -> None:
    assert str(Pattern("tail", "the end is wrong", "")) == "the end is wrong"
    assert str(Pattern("tail", "the end is wrong", "Look there.")) == "the end is wrong. Look there."
