"""The random number behind each token depends on seed and index alone."""

from __future__ import annotations

import numpy as np

from gridstride.serve.engine.random_numbers import uniforms


def test_a_batch_changes_nothing() -> None:
    index = np.arange(1000)
    alone = uniforms([7], index[:, None])[:, 0]
    batch = uniforms([3, 7, 7], np.stack([index, index, index[::-1]], axis=1))
    assert np.array_equal(batch[:, 1], alone)
    assert np.array_equal(batch[:, 2], alone[::-1])


def test_they_are_recorded_so_that_no_version_changes_a_text() -> None:
    numbers = uniforms([0, 1], np.array([[0, 0], [1, 1]]))
    assert numbers.tolist() == [[0.5079605879681605, 0.17601256256594233], [0.4224192380508798, 0.2357696609793668]]


def test_they_are_spread_evenly_from_0_to_below_1() -> None:
    numbers = uniforms([11], np.arange(40_000)[:, None])[:, 0]
    assert numbers.min() >= 0
    assert numbers.max() < 1
    counts = np.histogram(numbers, 20, (0, 1))[0]
    assert ((counts - 2000) ** 2 / 2000).sum() < 45  # chi-square of 19 degrees of freedom: 1 in 1,000 is above 44


def test_neighbours_say_nothing_of_one_another() -> None:
    numbers = uniforms([0, 1], np.stack([np.arange(20_000)] * 2, axis=1))
    assert abs(np.corrcoef(numbers[:-1, 0], numbers[1:, 0])[0, 1]) < 0.03
    assert abs(np.corrcoef(numbers[:, 0], numbers[:, 1])[0, 1]) < 0.03
