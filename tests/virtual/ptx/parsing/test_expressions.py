"""Constant expressions: C's precedence and types over 64-bit integers and doubles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.virtual.ptx import PtxError
from gridstride.virtual.ptx.module import Immediate
from gridstride.virtual.ptx.parsing.cursor import Cursor
from gridstride.virtual.ptx.parsing.expressions import expression, immediate, integer
from gridstride.virtual.ptx.parsing.lexer import Tokens


def value(text: str) -> tuple[str, int | float]:
    return expression(Cursor(Tokens(text)))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1 + 2 * 3", ("s", 7)), ("(1 + 2) * 3", ("s", 9)), ("-7 / 2", ("s", -3)), ("-7 % 2", ("s", -1)),
        ("1 << 4 | 1", ("s", 17)), ("~0", ("u", 2**64 - 1)), ("1 ? 2 : 3", ("s", 2)), ("!0.5", ("s", 0)),
        ("1U - 2", ("u", 2**64 - 1)), ("-1 < 1U", ("s", 0)), ("1.5 + 1", ("f", 2.5)), ("(.s64) 2.9", ("s", 2)),
        ("WARP_SZ - 1", ("s", 31)), ("0d3FF0000000000000", ("f", 1.0)), ("2 > 1 && 0 == 0", ("s", 1)),
    ],
)  # fmt: skip
def test_a_value(text: str, result: tuple[str, float]) -> None:
    assert value(text) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [("1 / 0", "division by zero"), ("1 << 64", "shift by 64"), ("1.0 % 2", "needs integers"), ("1 +", "an operand"),
     ("0f3F800000 + 1", "cannot be part of an expression"), ("(" * 70 + "1", "nested more than 64 deep")],
)  # fmt: skip
def test_what_has_no_value_is_refused(text: str, message: str) -> None:
    with pytest.raises(PtxError, match=message):
        value(text)


def test_an_operand_is_an_exact_single_a_double_or_an_integer() -> None:
    operands = [immediate(Cursor(Tokens(text))) for text in ("0f3F800000", "1.0", "-2")]
    assert operands == [Immediate("f32", 0x3F800000), Immediate("f64", 0x3FF0000000000000), Immediate("int", -2)]


def test_where_an_integer_is_needed_a_double_is_refused_by_what_it_is_for() -> None:
    assert integer(Cursor(Tokens("4 * 4")), "alignment") == 16
    with pytest.raises(PtxError, match="the alignment must be an integer"):
        integer(Cursor(Tokens("1.5")), "alignment")


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.sampled_from("+-*&|^"))
def test_signed_arithmetic_wraps_at_64_bits(a: int, b: int, op: str) -> None:
    exact = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}[op]
    assert value(f"(.s64)({a}) {op} (.s64)({b})") == ("s", (exact + 2**63) % 2**64 - 2**63)
