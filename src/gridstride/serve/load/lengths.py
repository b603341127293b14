"""Lengths in tokens, drawn from a distribution that a user names: 128, uniform:16:512, lognormal:120:0.8:1024."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Literal

from gridstride.serve.load.errors import LoadError

_MOST = 1 << 20  # tokens
_FORMS = "a number, uniform:LOW:HIGH or lognormal:MEDIAN:SIGMA[:MOST]"


@dataclass(frozen=True, slots=True)
class Lengths:
    """Whole numbers from `low` to `high`; of the log-normal, `median` and the deviation of the logarithm."""

    kind: Literal["fixed", "uniform", "lognormal"]
    low: int
    high: int
    median: float = 0.0
    sigma: float = 0.0

    def draw(self, random: Random) -> int:
        if self.kind == "lognormal":
            drawn = random.lognormvariate(math.log(self.median), self.sigma)
            return min(max(round(drawn), self.low), self.high)
        return random.randint(self.low, self.high)


def lengths(text: str) -> Lengths:
    """The distribution that a text names; LoadError says what is wrong with it."""
    kind, *words = text.split(":")
    if not words:
        kind, words = "fixed", [text]
    try:
        return _distribution(kind, [float(word) for word in words])
    except (ValueError, OverflowError) as error:
        reason = str(error) if isinstance(error, LoadError) else f"{_FORMS} is needed"
        raise LoadError(f"length {text!r}: {reason}") from None


def _distribution(kind: str, numbers: list[float]) -> Lengths:
    if kind == "fixed" and len(numbers) == 1:
        return Lengths("fixed", low := _token_count(numbers[0]), low)
    if kind == "uniform" and len(numbers) == 2:
        low, high = map(_token_count, numbers)
        if low > high:
            raise LoadError(f"{low} is above {high}")
        return Lengths("uniform", low, high)
    if kind == "lognormal" and len(numbers) in (2, 3):
        median, sigma = numbers[:2]
        if not 0 < sigma <= 5:
            raise LoadError(f"sigma {sigma:g} is not above 0 and at most 5")
        most = _token_count(numbers[2]) if len(numbers) == 3 else _MOST
        if not 1 <= median <= most:
            raise LoadError(f"the median {median:g} is not from 1 to {most}")
        return Lengths("lognormal", 1, most, median, sigma)
    raise ValueError


def _token_count(number: float) -> int:
    if number != int(number) or not 1 <= number <= _MOST:
        raise LoadError(f"{number:g} is no whole number from 1 to {_MOST}")
    return int(number)
