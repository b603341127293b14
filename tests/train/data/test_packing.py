"""Packed rows: full, nothing twice, and no example sees another."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder, packed
from gridstride.train.data import packing
from gridstride.train.data.conversations import PreferencePair, TrainingExample
from gridstride.train.data.packing import IGNORED
from gridstride.train.tuning.objectives import AnswerLoss, answer_logprobs

VOCABULARY, LENGTH = 61, 32


def example(size: int, *, seed: int = 0) -> TrainingExample:
    draw = np.random.default_rng(seed)
    answer = draw.random(size) < 0.5
    answer[-1] = True
    return TrainingExample(draw.integers(0, VOCABULARY, size, dtype=np.int32), answer)


def decoder(family: str = "llama") -> Decoder:
    torch.manual_seed(0)
    own = {"rotary_base": None, "norm": "layer", "activation": "gelu_tanh"} if family == "gpt2" else {}
    heads = 4 if family == "gpt2" else 2
    return Decoder(
        DecoderConfig(
            family=family, vocabulary=VOCABULARY, width=32, layers=2, heads=4, kv_heads=heads, head_width=8, hidden=48,
            context=LENGTH, **own,
        )
    ).eval()  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(2, LENGTH), min_size=1, max_size=30))
def test_every_example_is_in_one_row_whole(sizes: list[int]) -> None:
    examples = [example(size, seed=number) for number, size in enumerate(sizes)]
    rows = packing.packed(examples, LENGTH)
    found = []
    for row in rows:
        assert len(row.tokens) == LENGTH
        for segment in range(row.segments.max() + 1):
            places = np.flatnonzero(row.segments == segment)
            assert (np.diff(places) == 1).all()
            assert row.positions[places].tolist() == list(range(len(places)))
            found.append((row.tokens[places].tolist(), row.targets[places].tolist()))
        assert (row.targets[row.segments == -1] == IGNORED).all()
    expected = [
        (e.tokens.tolist(), [*np.where(e.answer[1:], e.tokens[1:], IGNORED).tolist(), IGNORED]) for e in examples
    ]
    assert sorted(found) == sorted(expected)
    assert sum(row.learned for row in rows) == sum(int(e.answer[1:].sum()) for e in examples)


def test_rows_are_as_full_as_they_can_be() -> None:
    rows = packing.packed([example(size) for size in (20, 20, 12, 12, 16, 16)], LENGTH)
    assert len(rows) == 3
    assert all((row.segments >= 0).all() for row in rows)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_packed_logits_are_those_of_each_example_alone(family: str) -> None:
    model = decoder(family)
    examples = [example(size, seed=size) for size in (5, 9, 13, 4, 30)]
    rows = packing.packed(examples, LENGTH)
    assert len(rows) == 2
    tokens, _, positions, segments = packing.stacked(rows)
    with torch.no_grad():
        logits = model.logits(model(tokens, positions, packed(segments)))
        for each in examples:
            alone = torch.from_numpy(each.tokens.astype(np.int64))[None]
            expected = model.logits(model(alone))[0]
            row, first = next(
                (row, first)
                for row in range(len(rows)) for first in range(LENGTH - len(each.tokens) + 1)
                if torch.equal(tokens[row, first : first + len(each.tokens)], alone[0])
            )  # fmt: skip
            torch.testing.assert_close(logits[row, first : first + len(each.tokens)], expected, atol=1e-5, rtol=1e-5)


def test_without_the_mask_they_would_leak() -> None:
    """So the test above can fail: plain causal attention over the same rows gives other logits."""
    model = decoder()
    tokens, _, positions, segments = packing.stacked(packing.packed([example(10, seed=1), example(20)], LENGTH))
    with torch.no_grad():
        kept, leaking = model(tokens, positions, packed(segments)), model(tokens, positions)
    first = segments[0] == 0
    torch.testing.assert_close(kept[0][first], leaking[0][first], atol=1e-5, rtol=1e-5)
    assert (kept[0][segments[0] == 1] - leaking[0][segments[0] == 1]).abs().max() > 0.01


def test_the_loss_is_that_of_the_answers_alone() -> None:
    model = decoder()
    examples = [example(size, seed=size) for size in (5, 9, 13)]
    loss = AnswerLoss(model)(*packing.stacked(packing.packed(examples, LENGTH)))
    total, count = 0.0, 0
    for each in examples:
        tokens = torch.from_numpy(each.tokens.astype(np.int64))[None]
        logprobs = model.logits(model(tokens)).log_softmax(-1)[0].detach()
        for place in np.flatnonzero(each.answer[1:]):
            total -= float(logprobs[place, tokens[0, place + 1]])
            count += 1
    assert float(loss) == pytest.approx(total / count, rel=1e-5)


def test_answers_of_pairs_are_scored_whatever_stands_behind_them() -> None:
    model = decoder()
    pairs = [
        PreferencePair(example(6, seed=1), example(20, seed=2)),
        PreferencePair(example(11, seed=3), example(3, seed=4)),
    ]
    tokens, targets = packing.paired(pairs, LENGTH)
    assert tokens.shape == (2, 2, LENGTH)
    with torch.no_grad():
        found = answer_logprobs(model, tokens, targets)
        for row, pair in enumerate(pairs):
            for side, each in enumerate((pair.chosen, pair.rejected)):
                alone = torch.from_numpy(each.tokens.astype(np.int64))[None]
                logprobs = model.logits(model(alone)).log_softmax(-1)[0]
                own = sum(float(logprobs[i, alone[0, i + 1]]) for i in np.flatnonzero(each.answer[1:]))
                assert float(found[row, side]) == pytest.approx(own, rel=1e-5)
