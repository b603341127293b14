"""Whether two runs left the same bits: what nobody wrote, and any NaN for another, do not count."""

from __future__ import annotations

import numpy as np

from gridstride.judge.execution.buffers import poisoned
from gridstride.judge.results.repeatability import differing, repeated, wrote_less


def poison(run: int, count: int) -> np.ndarray:
    """Elements that no run wrote, as that run finds them."""
    words = np.full(count, (0x7FA5A5A5, 0xFF9A5A5A)[run], np.uint32).view(np.float32)
    assert poisoned(words, run).all()
    return words


def test_other_bits_are_no_repetition() -> None:
    first = np.array([1, 2, 3], np.float32)
    assert repeated(first, first.copy(), bitwise=True)
    assert not repeated(first, first + np.float32(1e-6), bitwise=False)


def test_what_neither_run_wrote_counts_as_the_same() -> None:
    first, second = (np.concatenate([np.ones(2, np.float32), poison(run, 2)]) for run in (0, 1))
    assert repeated(first, second, bitwise=True)


def test_one_nan_is_as_good_as_another_unless_bits_count() -> None:
    first, second = (np.array([word], np.uint32).view(np.float32) for word in (0x7FC00000, 0x7FC00001))
    assert repeated(first, second, bitwise=False)
    assert not repeated(first, second, bitwise=True)


def test_a_second_run_that_wrote_less_is_told_from_one_that_wrote_other_things() -> None:
    first, second = np.ones(4, np.float32), np.concatenate([np.ones(3, np.float32), poison(1, 1)])
    assert wrote_less(first, second)
    assert "wrote nothing to 1 elements of out" in differing("out", first, second)
    assert not wrote_less(first, first * 2)
    assert "differ in 4 elements of out" in differing("out", first, first * 2)
