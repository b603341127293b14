"""Figures against a model whose log-probabilities are known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.serve.engine.batch import TokenLogprobs
from gridstride.serve.evaluate.scores import accuracy, perplexity, windows
from gridstride.serve.evaluate.tasks import ChoiceQuestion, TaskError


class Letters:
    """A token for each byte; one that is the letter before it plus 1 costs nothing, any other as much as `miss`."""

    def __init__(self, miss: float = 2.0) -> None:
        self.asked: list[Sequence[int]] = []
        self._miss = miss

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        return list(text.encode())

    def scores(self, prompts: Iterable[Sequence[int]]) -> Iterator[tuple[int, tuple[TokenLogprobs, ...]]]:
        self.asked = list(prompts)
        for number, ids in reversed(list(enumerate(self.asked))):  # in any order
            yield number, tuple(TokenLogprobs(0.0 if b == a + 1 else -self._miss, ()) for a, b in pairwise(ids))


def nothing(done: int, total: int) -> None:
    assert done <= total


@given(count=st.integers(1, 200), window=st.integers(2, 50), stride=st.integers(1, 50))
def test_each_token_is_predicted_once_with_enough_before_it(count: int, window: int, stride: int) -> None:
    stride = min(stride, window - 1)
    seen: list[int] = []
    for start, end, first in windows(count, window, stride):
        assert end - start <= window
        seen += range(first, end)
        assert first == 1 or first - start >= min(window - stride, first)
    assert seen == list(range(1, count))


@pytest.mark.parametrize(("window", "stride"), [(100, 50), (4, 2), (4, 3), (2, 1)])
def test_perplexity_is_that_of_all_tokens_together(window: int, stride: int) -> None:
    """Twelve letters in three texts: nine follow another one, of which three cost 2 nats."""
    found = perplexity(Letters(), ["abcd", "adbc", "a", "xaz"], window=window, stride=stride, note=nothing)
    assert (found.texts, found.tokens, found.bytes) == (4, 8, 12)
    misses = 4  # ad, db, xa, az
    assert found.nats_per_token == pytest.approx(2.0 * misses / 8)
    assert found.perplexity == pytest.approx(math.exp(1.0))
    assert found.bits_per_byte == pytest.approx(2.0 * misses / math.log(2) / 12)


def test_texts_of_one_token_each_have_no_perplexity() -> None:
    with pytest.raises(TaskError, match="no text has more than one token"):
        perplexity(Letters(), ["a", "b"], window=4, stride=2, note=nothing)


def test_the_likeliest_choice_counts() -> None:
    questions = [
        ChoiceQuestion("ab", ("cd", "dd"), 0),
        ChoiceQuestion("ab ", ("dd", "cd"), 1),
        ChoiceQuestion("ab", ("cd", "dd"), 1),
    ]
    model = Letters()
    found = accuracy(model, questions, longest=100, note=nothing)
    assert (found.questions, found.cut) == (3, 0)
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.accuracy_stderr == pytest.approx(math.sqrt(2 / 9 / 2))
    assert [bytes(each).decode() for each in model.asked] == ["ab cd", "ab dd", "ab dd", "ab cd", "ab cd", "ab dd"]


def test_long_choices_are_not_worse_per_byte() -> None:
    """The right one costs 4 nats and has eight bytes, the other costs 4 and has two: together they are the same."""
    found = accuracy(Letters(), [ChoiceQuestion("a", ("qq", "bcdefghi"), 1)], longest=100, note=nothing)
    assert found.accuracy_per_byte == 1.0


def test_a_prompt_that_is_too_long_loses_its_beginning() -> None:
    model = Letters()
    found = accuracy(model, [ChoiceQuestion("x" * 50, ("ab", "ba"), 0)], longest=10, note=nothing)
    assert found.cut == 2
    assert [len(each) for each in model.asked] == [10, 10]
    assert found.accuracy == 1.0
