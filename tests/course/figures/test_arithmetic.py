"""Expressions over named numbers."""

from __future__ import annotations

import pytest

from gridstride.course.figures.arithmetic import evaluate, names


def test_an_expression_is_computed_over_its_names() -> None:
    assert evaluate("2 * fp32 * clock / 1e3", {"fp32": 128, "clock": 1000}) == 256
    assert evaluate("ceil(n / 256)", {"n": 1000}) == 4
    assert evaluate("sectors / requests", {"sectors": 0, "requests": 0}) == 0
    assert names("ceil(n / 256) - min(a, b)") == {"n", "a", "b"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a +", "no expression"),
        ("a / b", "b in 'a / b' is 0"),
        ("c", "c in 'c' is not known: there are a, b"),
        ("a ** 2", "not understood"),
        ("__import__('os')", "not understood"),
        ("a.real", "not understood"),
    ],
)
def test_anything_else_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        evaluate(text, {"a": 1, "b": 0})
    assert said in str(error.value)
