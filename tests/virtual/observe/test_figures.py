"""Counts and tables as they are written for people."""

from __future__ import annotations

import pytest

from gridstride.virtual.observe.figures import aligned, percent, short, times


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (40, "40"),
        (999, "999"),
        (1000, "1.00 k"),
        (17_301_504, "17.3 M"),
        (8.13, "8.13"),
        (0.1638, "0.164"),
        (999_600, "1.00 M"),
    ],
)
def test_counts_are_short(value: float, shown: str) -> None:
    assert short(value) == shown


def test_ratios_and_shares_are_short() -> None:
    assert [times(ratio) for ratio in (6.6, 32, 1.153, 530.2, 1.0)] == ["6.6×", "32×", "1.15×", "530×", "1×"]
    assert [percent(share) for share in (0, 0.004, 0.5, 1)] == ["0 %", "0.4 %", "50 %", "100 %"]


def test_columns_are_aligned() -> None:
    assert aligned(["name", "n"], [["a", "10"], ["bcdef", "7"]]) == ["name    n", "a      10", "bcdef   7"]
