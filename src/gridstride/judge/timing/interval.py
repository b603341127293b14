"""How sure a median is: an interval from the order of the values alone, whatever their distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, sqrt
from statistics import median

NARROW = 0.01  # of the median: an interval as narrow as this ends the measuring
_95 = 1.96  # standard deviations on each side of the mean that hold 95 % of a normal distribution


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Two of the values between which the median lies with 95 % probability, or as much as so few values allow.

    How many values lie below the median is binomial with half a chance each; approximated as normal (W. J. Conover,
    Practical Nonparametric Statistics, 3.2). Of up to five values it is the first and the last.
    """
    ordered = sorted(values)
    outside = max(0, floor((len(ordered) - _95 * sqrt(len(ordered))) / 2))
    return ordered[outside], ordered[-1 - outside]


def narrow(values: Sequence[float]) -> bool:
    """Whether more values would tell little."""
    low, high = interval(values)
    return high - low <= NARROW * median(values)
