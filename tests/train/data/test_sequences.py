"""The order of the data follows from seed and step alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gridstride.train.data.sequences import WindowSampler, windows_in_order


def sampler(*, length: int = 1000, rank: int = 0, world: int = 1, batch: int = 12, seed: int = 3) -> WindowSampler:
    tokens = np.arange(length, dtype=np.uint16)
    return WindowSampler(tokens=tokens, sequence=16, batch=batch, seed=seed, rank=rank, world=world)


@given(step=st.integers(0, 10_000), world=st.sampled_from([1, 2, 3, 4, 6, 12]), seed=st.integers(0, 2**32))
def test_any_number_of_ranks_sees_the_same_global_batch(step: int, world: int, seed: int) -> None:
    alone = sampler(seed=seed).rows(step)
    shares = [sampler(rank=rank, world=world, seed=seed).rows(step) for rank in range(world)]
    for part in (0, 1):
        assert torch.equal(torch.cat([share[part] for share in shares]), alone[part])


def test_targets_are_the_next_tokens() -> None:
    inputs, targets = sampler().rows(5)
    assert inputs.shape == targets.shape == (12, 16)
    assert torch.equal(inputs + 1, targets)


def test_an_epoch_sees_each_window_once() -> None:
    one = sampler()
    steps = -(-one.windows // one.batch)
    numbers = [number for step in range(steps) for number in one.numbers(step)]
    first = [one._start(epoch, window) for epoch, window in numbers if epoch == 0]
    assert len(first) == len(set(first)) == one.windows
    assert len({start % one.sequence for start in first}) == 1


def test_epochs_and_seeds_differ() -> None:
    assert not torch.equal(sampler(seed=1).rows(0)[0], sampler(seed=2).rows(0)[0])
    one = sampler(batch=61)
    assert one.windows == 61
    assert not torch.equal(one.rows(0)[0], one.rows(1)[0])


def test_a_batch_that_does_not_split_is_refused() -> None:
    with pytest.raises(ValueError, match="12 sequences does not split over 5 ranks"):
        sampler(world=5)


@given(length=st.integers(17, 300), batch=st.integers(1, 7))
def test_validation_takes_each_token_but_the_first_once_as_a_target(length: int, batch: int) -> None:
    windows = windows_in_order(np.arange(length), sequence=8, batch=batch)
    targets = torch.cat([rows[:, 1:].flatten() for rows in windows]).tolist()
    assert targets == list(range(1, (length - 1) // 8 * 8 + 1))
