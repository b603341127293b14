"""Shapes in symbols: what they settle, and what does not fit them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.extension.shapes import ShapeSpec, Sizes, check_stars, parse_shape

AXES = st.lists(st.integers(0, 5), max_size=4)


def settled(**arrays: tuple[str, tuple[int, ...]]) -> Sizes:
    sizes = Sizes()
    for name, (text, shape) in arrays.items():
        parse_shape(text, name).bind(shape, name, sizes)
    return sizes


@given(AXES, st.integers(0, 5))
def test_a_star_stands_for_the_axes_in_front(front: list[int], width: int) -> None:
    sizes = settled(x=("*rows width", (*front, width)))
    assert sizes.values == {"rows": math.prod(front), "width": width}
    assert parse_shape("width *rows 3", "y").resolve(sizes) == (width, *front, 3)


@given(AXES, st.integers(0, 5), AXES)
def test_what_is_bound_resolves_to_itself(front: list[int], middle: int, tail: list[int]) -> None:
    spec = ShapeSpec((*(f"f{i}" for i in range(len(front))), "*many", *(f"t{i}" for i in range(len(tail)))))
    sizes, shape = Sizes(), (*front, middle, *tail)
    spec.bind(shape, "x", sizes)
    assert spec.resolve(sizes) == shape


def test_a_number_without_axes() -> None:
    assert settled(x=("", ())).values == {}
    assert settled(x=("*n", ())).values == {"n": 1}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": ("m n", (2, 3, 4))}, r"x has shape \(2, 3, 4\), not \[m, n\]"),
        ({"x": ("*rows width", ())}, r"x has shape \(\), not \[…rows, width\]"),
        ({"x": ("n 4", (2, 3))}, r"x has shape \(2, 3\), not \[n, 4\]"),
        ({"x": ("n n", (2, 3))}, r"x has shape \(2, 3\), not \[n, n\] with n = 2 as in x"),
        ({"A": ("m k", (2, 3)), "B": ("k n", (4, 5))}, r"B has shape \(4, 5\), not \[k, n\] with k = 3 as in A"),
        ({"x": ("*n", (2, 3)), "y": ("*n", (3, 2))}, r"y has .* not \[…n\] with …n = \(2, 3\) as in x"),
    ],
)
def test_what_does_not_fit_is_named(arrays: dict[str, tuple[str, tuple[int, ...]]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        settled(**arrays)


@pytest.mark.parametrize(("text", "part"), [("m, n", "'m,'"), ("*a *b", "a second star"), ("n+1", r"'n\+1'")])
def test_a_text_that_is_no_shape_is_refused(text: str, part: str) -> None:
    with pytest.raises(ValueError, match=f"shape of x: .* has {part}"):
        parse_shape(text, "x")


def test_a_symbol_has_a_star_everywhere_or_nowhere() -> None:
    with pytest.raises(ValueError, match=r"\*n of x is n without a star in y"):
        check_stars({"y": parse_shape("n", "y"), "x": parse_shape("*n", "x")})
