"""Expressions over sizes: whole-number arithmetic, and nothing else whatever the text is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.judge.symbols import ExpressionError, evaluate, names


@given(st.integers(1, 10**9), st.integers(1, 10**4))
def test_ceil_of_a_quotient_is_exact(n: int, tile: int) -> None:
    assert evaluate(f"ceil(N/{tile})", {"N": n}) == -(-n // tile)


def test_ceil_is_exact_where_a_float_is_not() -> None:
    big = 3**40
    assert evaluate("ceil(N/3)", {"N": big + 1}) == big // 3 + 1
    assert math.ceil((big + 1) / 3) != big // 3 + 1


@given(st.integers(-100, 100), st.integers(-100, 100), st.integers(1, 100))
def test_operators_are_pythons(a: int, b: int, c: int) -> None:
    symbols = {"a": a, "b": b, "c": c}
    for text in ("a + b * c", "(a - b) // c", "a % c", "-a + b", "min(a, b, c)", "max(a, b - c)"):
        assert evaluate(text, symbols) == eval(text, {"min": min, "max": max}, dict(symbols))


def test_a_fraction_is_refused_with_the_way_out() -> None:
    with pytest.raises(ExpressionError, match=r"N/16 is 6\.25, not a whole number: write ceil\(N/16\)"):
        evaluate("N/16", {"N": 100})


def test_an_unknown_size_is_named() -> None:
    with pytest.raises(ExpressionError, match=r"Q in ceil\(Q/16\) is no size of this problem \(sizes: M, N\)"):
        evaluate("ceil(Q/16)", {"N": 1, "M": 1})


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "(lambda: 1)()",
        "N.real",
        "[1][0]",
        "'a' * N",
        "True",
        "1.5",
        "N ** 9999999",
        "open",
        "ceil(1, 2)",
        "ceil()",
        "min(*N)",
        "max(N, key=N)",
        "N if N else 1",
        "N := 3",
        "1 << 99999999",
        "N / 0",
        "N % 0",
        "",
        "N +",
        "(" * 300,
        "9" * 500,
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, {"N": 4})


@given(st.text(max_size=40))
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        value = evaluate(text, {"N": 4})
    except ExpressionError:
        return
    assert isinstance(value, int)


def test_names_are_the_sizes_without_the_functions() -> None:
    assert names("ceil(M/16) + min(N, 3)") == {"M", "N"}


def test_what_is_not_understood_is_quoted_as_it_stands() -> None:
    with pytest.raises(ExpressionError, match=r"^1e400 in n \+ 1e400 is not understood"):
        evaluate("n + 1e400", {"n": 3})
