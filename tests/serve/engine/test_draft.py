"""Guesses of a small model: what its cache holds, and what it costs the large one when it goes wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from fake_runner import NOT_FINITE, FakeDraft, FakeRunner, expected, next_token, run, submit, tokens

from gridstride.serve.engine import draft
from gridstride.serve.engine.batch import Batch, Sampled
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.engine.speculation import Speculation

SIZES = {"blocks": 200, "context": 200}


def mostly(history: Sequence[int]) -> int:
    """Right but for every seventh token."""
    return (next_token(history) + (len(history) % 7 == 0)) % 38


def served(small: FakeDraft, *prompts: list[int], wished: int = 40) -> tuple[Engine, list[list[int]]]:
    engine = Engine(FakeRunner(**SIZES), Batching(max_running=8), speculation=Speculation("draft"), draft=small)
    for number, prompt in enumerate(prompts):
        engine.submit(submit(str(number), prompt, max_tokens=wished))
    found = run(engine)
    assert small.wrong == []
    return engine, [tokens(found[str(number)]) for number in range(len(prompts))]


def alone(prompt: list[int], wished: int = 40) -> list[int]:
    return expected(prompt, Sampling(max_tokens=wished))


def test_a_draft_that_is_right_takes_few_steps() -> None:
    engine, (text,) = served(FakeDraft(**SIZES), [1, 2, 3])
    assert text == alone([1, 2, 3])
    assert engine.stats().accepted_tokens == engine.stats().draft_tokens
    assert engine.stats().steps < 12


def test_its_cache_holds_each_sequence_though_guesses_are_rejected() -> None:
    prompts = [[1, 2, 3], [4] * 30, [*range(20)], [*range(20)]]
    engine, texts = served(FakeDraft(**SIZES, text=mostly), *prompts)
    assert texts == [alone(prompt) for prompt in prompts]
    assert 0 < engine.stats().accepted_tokens < engine.stats().draft_tokens


def test_it_reads_only_what_it_has_not_read() -> None:
    small = FakeDraft(**SIZES)
    served(small, [*range(20)], wished=60)
    assert [len(batch.tokens) for batch in small.batches[:3]] == [21, 1, 1]
    assert max(len(batch.tokens) for batch in small.batches[1:]) <= 2


def test_a_long_prompt_is_read_in_pieces_before_the_first_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft, "_MOST_BEHIND", 16)
    small = FakeDraft(**SIZES)
    engine, texts = served(small, [1] * 60, [2] * 40)
    assert texts == [alone([1] * 60), alone([2] * 40)]
    assert max(len(batch.tokens) for batch in small.batches) <= 16
    assert engine.stats().accepted_tokens > 20


class Broken(FakeDraft):
    def execute(self, batch: Batch) -> Sampled:
        raise MemoryError("none left")


class NeverFinite(FakeDraft):
    def execute(self, batch: Batch) -> Sampled:
        return Sampled(np.full((len(batch.draws), 1), -1), (None,) * len(batch.draws))


@pytest.mark.parametrize("kind", [Broken, NeverFinite])
def test_a_draft_that_fails_costs_no_text(kind: type[FakeDraft]) -> None:
    engine, texts = served(kind(**SIZES), [1, 2, 3], [4, 5])
    assert texts == [alone([1, 2, 3]), alone([4, 5])]
    assert engine.stats().draft_tokens == 0
    assert engine.failed_steps == 0


def test_a_draft_that_raises_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    served(Broken(**SIZES), [1, 2, 3])
    served(Broken(**SIZES), [1, 2, 3], [4, 5])
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [MemoryError] * 2


def test_a_sequence_that_the_draft_cannot_bear_goes_on_to_its_end() -> None:
    engine, (bad, good) = served(FakeDraft(**SIZES), [1, NOT_FINITE], [4, 5])
    assert good == alone([4, 5])
    assert bad == alone([1, NOT_FINITE])[: len(bad)]
    assert engine.stats().accepted_tokens > 0


def beyond(history: Sequence[int]) -> int:
    """Every third token is one that the large model does not have."""
    return next_token(history) if len(history) % 3 else 40


def test_tokens_that_the_large_model_does_not_have_are_not_proposed() -> None:
    engine, texts = served(FakeDraft(**SIZES, text=beyond), [1, 2, 3], [4, 5])
    assert texts == [alone([1, 2, 3]), alone([4, 5])]
    assert 0 < engine.stats().accepted_tokens == engine.stats().draft_tokens


class Short(FakeDraft):
    """Its table ends at token 20."""

    vocabulary = 20

    def execute(self, batch: Batch) -> Sampled:
        assert max(batch.tokens) < 20
        assert all(max(draw.sampling.logit_bias, default=0) < 20 for draw in batch.draws)
        return super().execute(batch)


def test_a_sequence_with_a_token_that_the_draft_does_not_have_goes_on_without_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    small = Short(**SIZES, text=lambda history: next_token(history) % 20)
    _, texts = served(small, [1, 30, 3], [4, 5])
    assert texts == [alone([1, 30, 3]), alone([4, 5])]
    assert not [record for record in caplog.records if record.exc_info]
