"""Lengths in tokens, as a user names their distribution."""

from __future__ import annotations

from random import Random

import pytest

from gridstride.serve.load.errors import LoadError
from gridstride.serve.load.lengths import Lengths, lengths


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("128", Lengths("fixed", 128, 128)), ("fixed:7", Lengths("fixed", 7, 7)),
        ("uniform:16:512", Lengths("uniform", 16, 512)),
        ("lognormal:120:0.8:1024", Lengths("lognormal", 1, 1024, 120.0, 0.8)),
    ],
)  # fmt: skip
def test_a_distribution(text: str, made: Lengths) -> None:
    assert lengths(text) == made


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0", "0 is no whole number from 1"), ("1.5", "1.5 is no whole number"), ("uniform:9:3", "9 is above 3"),
        ("lognormal:10:9", "sigma 9 is not above 0"), ("lognormal:100:1:50", "the median 100 is not from 1 to 50"),
        ("uniform:1", "is needed"), ("long", "is needed"), ("inf", "is needed"), ("zipf:1:2", "is needed"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_one(text: str, reason: str) -> None:
    with pytest.raises(LoadError, match=reason) as caught:
        lengths(text)
    assert str(caught.value).startswith(f"length {text!r}: ")


@pytest.mark.parametrize("text", ["5", "uniform:3:6", "lognormal:20:2:64"])
def test_what_is_drawn_lies_within_and_is_the_same_for_a_seed(text: str) -> None:
    made = lengths(text)
    first, second = ([made.draw(random) for _ in range(300)] for random in (Random(5), Random(5)))
    assert first == second
    assert all(made.low <= number <= made.high for number in first)
