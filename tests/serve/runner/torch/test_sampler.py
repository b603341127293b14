"""What a row of logits and a request's wishes come to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gridstride.serve.engine.batch import Draw
from gridstride.serve.engine.random_numbers import uniforms
from gridstride.serve.engine.sampling import RULES, Sampling
from gridstride.serve.runner.torch.sampler import inverse, sample

LOGITS = torch.tensor([1.0, 3.0, -2.0, 2.5, 0.0, 2.0, -1.0, 0.5])
SIZE = len(LOGITS)


def draw(*, index: int = 0, prompt: tuple[int, ...] = (), output: tuple[int, ...] = (), **wishes: Any) -> Draw:
    return Draw(Sampling(**wishes), index, prompt, output)


def one(logits: torch.Tensor, wanted: Draw) -> int:
    return int(sample(logits[None], [wanted]).tokens[0, 0])


def counts(draws: int = 4000, logits: torch.Tensor = LOGITS, **wishes: Any) -> np.ndarray:
    """How often each token comes."""
    rows = [draw(index=i, **wishes) for i in range(draws)]
    return np.bincount(sample(logits.expand(draws, -1), rows).tokens[:, 0], minlength=len(logits))


def chances(logits: torch.Tensor, kept: list[int] | None = None) -> np.ndarray:
    full = torch.full_like(logits, -math.inf)
    places = list(range(len(logits))) if kept is None else kept
    full[places] = logits[places]
    return full.double().softmax(-1).numpy()


def assert_fits(found: np.ndarray, wanted: np.ndarray) -> None:
    """Chi-square, and nothing that has no chance."""
    assert not found[wanted == 0].any()
    possible = wanted > 0
    assert stats.chisquare(found[possible], wanted[possible] * found.sum()).pvalue > 1e-3


def test_temperature_0_takes_the_likeliest() -> None:
    assert one(LOGITS, draw(temperature=0.0)) == 1


def test_a_tiny_temperature_does_too() -> None:
    assert all(one(LOGITS * 1e20, draw(temperature=t)) == 1 for t in (1e-6, 1e-30, 1e-300))


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_come_as_often_as_softmax_says(temperature: float) -> None:
    assert_fits(counts(temperature=temperature), chances(LOGITS / temperature))


def test_top_k_leaves_the_k_likeliest() -> None:
    assert_fits(counts(top_k=3), chances(LOGITS, [1, 3, 5]))


def test_top_k_of_equals_takes_the_lowest_ids() -> None:
    assert np.flatnonzero(counts(logits=torch.zeros(6), top_k=2)).tolist() == [0, 1]


def test_top_p_leaves_the_fewest_that_reach_it() -> None:
    ordered = sorted(range(SIZE), key=lambda i: -LOGITS[i])
    share = chances(LOGITS)[ordered].cumsum()
    assert_fits(counts(top_p=float(share[1]) - 1e-6), chances(LOGITS, ordered[:2]))
    assert_fits(counts(top_p=float(share[1]) + 1e-6), chances(LOGITS, ordered[:3]))


def test_the_smallest_top_p_leaves_one() -> None:
    assert np.flatnonzero(counts(top_p=1e-12)).tolist() == [1]


def test_min_p_leaves_those_with_that_share_of_the_best() -> None:
    least = 0.3
    kept = [i for i, chance in enumerate(chances(LOGITS)) if chance >= least * chances(LOGITS).max()]
    assert_fits(counts(min_p=least), chances(LOGITS, kept))


def test_top_p_counts_what_top_k_has_left() -> None:
    first = chances(LOGITS, [1, 3])[1]
    assert np.flatnonzero(counts(top_k=2, top_p=first - 1e-6)).tolist() == [1]
    assert np.flatnonzero(counts(top_p=first - 1e-6)).tolist() == [1, 3]


def test_frequency_and_presence_penalties_count_the_output_only() -> None:
    wanted = draw(
        prompt=(3, 3), output=(1, 1, 5), temperature=0.0, frequency_penalty=0.5, presence_penalty=0.25, logprobs=0
    )
    assert one(LOGITS, wanted) == 3
    # 3.0 - 2 * 0.5 - 0.25 = 1.75 is above 2.0 - 0.5 - 0.25 = 1.25 and 1.0
    barred = LOGITS.clone()
    barred[3] = -9.0
    assert one(barred, wanted) == 1
    barred[1] -= 0.6
    assert one(barred, wanted) == 5


def test_the_repetition_penalty_divides_what_is_above_0_and_multiplies_what_is_below() -> None:
    logits = torch.tensor([2.0, 1.5, -1.0, -1.5])
    assert one(logits, draw(prompt=(0,), temperature=0.0, repetition_penalty=1.4)) == 1
    assert one(logits, draw(output=(0,), temperature=0.0, repetition_penalty=1.4)) == 1
    assert one(logits[2:], draw(output=(0,), temperature=0.0, repetition_penalty=1.6)) == 1


def test_logit_bias_is_added() -> None:
    assert one(LOGITS, draw(temperature=0.0, logit_bias={2: 5.5})) == 2
    assert one(LOGITS, draw(temperature=0.0, logit_bias={1: -100.0})) == 3


def test_a_mask_leaves_what_it_allows() -> None:
    mask = np.array([0b10010100], np.uint32)
    rows = [Draw(Sampling(), i, (), (), mask) for i in range(2000)]
    found = np.bincount(sample(LOGITS.expand(2000, -1), rows).tokens[:, 0], minlength=SIZE)
    assert_fits(found, chances(LOGITS, [2, 4, 7]))


def test_logprobs_are_of_the_models_own_logits() -> None:
    wanted = draw(temperature=0.3, logit_bias={2: 50.0}, logprobs=2)
    (given_,) = sample(LOGITS[None], [wanted]).logprobs[0] or ()
    truth = LOGITS.double().log_softmax(-1)
    assert given_.own == pytest.approx(float(truth[2]), abs=1e-5)
    assert given_.top == ((1, pytest.approx(float(truth[1]), abs=1e-5)), (3, pytest.approx(float(truth[3]), abs=1e-5)))


def test_no_logprobs_unless_asked_for() -> None:
    assert sample(LOGITS[None], [draw()]).logprobs == (None,)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_bad_logit_marks_its_row_alone(value: float) -> None:
    rows = LOGITS.repeat(3, 1)
    rows[1, 4] = value
    for wishes in ({"temperature": 0.0}, {"top_p": 0.9}, {"logprobs": 1}):
        found = sample(rows, [draw(**wishes)] * 3).tokens[:, 0].tolist()
        assert found[1] == -1
        assert found[0] == found[2] == one(LOGITS, draw(**wishes))


def test_minus_infinity_only_bars_a_token_unless_it_bars_all() -> None:
    barred = LOGITS.clone()
    barred[1] = -math.inf
    assert one(barred, draw(temperature=0.0)) == 3
    assert one(torch.full((4,), -math.inf), draw()) == -1


def test_logits_are_left_as_they_were() -> None:
    rows = LOGITS.repeat(2, 1)
    sample(rows, [draw(logit_bias={0: 9.0}, repetition_penalty=2.0, prompt=(1,), top_k=2, logprobs=1)] * 2)
    assert torch.equal(rows, LOGITS.repeat(2, 1))


WISHES = st.fixed_dictionaries(
    {"seed": st.integers(0, 2**63)},
    optional={
        "temperature": st.sampled_from([0.0, 0.7, 1.0, 3.0]),
        "top_k": st.integers(0, 40),
        "top_p": st.sampled_from([0.1, 0.9, 1.0]),
        "min_p": st.sampled_from([0.0, 0.05]),
        "frequency_penalty": st.sampled_from([0.0, 1.0]),
        "repetition_penalty": st.sampled_from([1.0, 1.3]),
        "logit_bias": st.dictionaries(st.integers(0, 31), st.floats(-5, 5), max_size=3),
        "logprobs": st.sampled_from([None, 0, 3]),
    },
)


@settings(max_examples=60, deadline=None)
@given(wishes=st.lists(WISHES, min_size=1, max_size=9), seed=st.integers(0, 2**31), order=st.randoms())
def test_a_row_gets_the_same_token_in_any_batch(wishes: list[dict[str, Any]], seed: int, order: Any) -> None:
    logits = torch.randn(len(wishes), 32, generator=torch.Generator().manual_seed(seed)) * 3
    rows = [draw(index=i, prompt=(1, 2), output=(3, 3, 4), **wish) for i, wish in enumerate(wishes)]
    places = list(range(len(rows)))
    order.shuffle(places)
    together = sample(logits[places], [rows[i] for i in places])
    for place, i in enumerate(places):
        alone = sample(logits[i : i + 1], [rows[i]])
        assert together.tokens[place, 0] == alone.tokens[0, 0]
        assert together.logprobs[place] == alone.logprobs[0]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 1e-30, 0.1, 1.0, 7.0]), min_size=1, max_size=20), st.floats(0, 1, exclude_max=True)
)
def test_the_inverse_never_takes_what_has_no_weight(weights: list[float], point: float) -> None:
    if sum(weights):
        place = int(inverse(torch.tensor([weights]), torch.tensor([point], dtype=torch.float64))[0])
        assert weights[place] > 0
        below = torch.tensor(weights).double().cumsum(0)
        assert below[place] > point * below[-1] >= (below[place - 1] if place else 0)


def test_a_request_draws_other_numbers_at_each_token_and_seed() -> None:
    assert len(np.unique(uniforms(range(50), np.arange(50)[:, None]))) == 2500


def test_random_numbers_are_the_same_in_every_release() -> None:
    known = {(0, 0): 0.5079605879681605, (7, 3): 0.595391231526763, (-5, 2): 0.5867281015903761,
             (2**70 + 3, 10**6): 0.41697461087901444}  # fmt: skip
    seeds, index = zip(*known, strict=True)
    assert uniforms(seeds, np.array(index)).tolist() == list(known.values())


@pytest.mark.parametrize(
    "sampling",
    [Sampling(logprobs=0), Sampling(schema=""), Sampling(logit_bias={3: 1.0}), Sampling(repetition_penalty=1.1),
     Sampling(frequency_penalty=0.1), Sampling(presence_penalty=0.5)],
)  # fmt: skip
def test_what_needs_more_than_the_logits_is_not_plain(sampling: Sampling) -> None:
    assert not sampling.plain
    assert Sampling(temperature=0.3, top_k=4, top_p=0.5, min_p=0.1, seed=7).plain


TRIALS: dict[str, dict[str, Any]] = {
    "temperature": {"temperature": 0.3},
    "top_k": {"top_k": 2},
    "top_p": {"top_p": 0.5},
    "min_p": {"min_p": 0.5},
    "seed": {"seed": 7},
    "presence_penalty": {"presence_penalty": 2.0},
    "frequency_penalty": {"frequency_penalty": 2.0},
    "repetition_penalty": {"repetition_penalty": 2.0},
    "logit_bias": {"logit_bias": {2: 5.0}},
}
"""A value of each option at which other tokens come than without it."""


@pytest.mark.parametrize("option", [name for name, rule in RULES.items() if rule.use in ("draw", "adjust")])
def test_every_option_changes_what_is_drawn(option: str) -> None:
    assert option in TRIALS, "TRIALS has a value for each option"
    rows = [
        [draw(index=i, output=(1, 1, 3), **wishes) for i in range(200)] for wishes in ({}, TRIALS[option])
    ]  # fmt: skip
    plain, changed = (sample(LOGITS.expand(200, -1), each).tokens for each in rows)
    assert (plain != changed).any()


@pytest.mark.parametrize("option", [name for name, rule in RULES.items() if rule.use not in ("draw", "end")])
def test_what_the_recorded_steps_do_not_know_takes_the_slow_way(option: str) -> None:
    others = {"logprobs": 0, "prompt_logprobs": 0, "pool": "last", "schema": "", "min_tokens": 2}
    value = TRIALS.get(option) or {option: others[option]}
    assert Sampling().plain
    assert not Sampling(**value).plain
