"""Rotary tables: the angles, and how each rule stretches them."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")
from gridstride.models.rotary import longrope_attention, yarn_attention


@pytest.mark.parametrize("rule", [yarn_attention, lambda factor: longrope_attention(factor, 4096)])
def test_a_context_that_is_not_longer_changes_nothing(rule: object) -> None:
    assert [rule(factor) for factor in (0.5, 1.0)] == [1.0, 1.0]  # type: ignore[operator]


def test_what_cosines_and_sines_are_multiplied_with() -> None:
    assert yarn_attention(math.e) == pytest.approx(1.1)
    assert longrope_attention(4096, 4096) == pytest.approx(math.sqrt(2))
