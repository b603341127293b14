"""The steps that every part of PTX's grammar shares."""

from __future__ import annotations

import pytest

from gridstride.virtual.ptx import PtxError
from gridstride.virtual.ptx.parsing.cursor import MAX_EXPANSION, Cursor, is_identifier, literal
from gridstride.virtual.ptx.parsing.lexer import Tokens


def cursor(text: str) -> Cursor:
    return Cursor(Tokens(text))


@pytest.mark.parametrize(
    ("token", "value"),
    [("0", 0), ("42", 42), ("42U", 42), ("0x1F", 31), ("0b101", 5), ("017", 15), ("08", None), ("1.5", None),
     ("x", None), ("1_000", None), ("9" * 25, None), ("0x", None), ("0b" + "1" * 64, 2**64 - 1)],
)  # fmt: skip
def test_an_integer_literal(token: str, value: int | None) -> None:
    assert literal(token) == value


@pytest.mark.parametrize(("token", "is_name"), [("a1", True), ("%r", True), ("$L", True), ("_x", True), ("_", False),
                                                ("a.b", False), ("1a", False), ("", False)])  # fmt: skip
def test_a_name(token: str, is_name: bool) -> None:
    assert is_identifier(token) == is_name


def test_what_is_accepted_is_taken_and_what_is_not_stays() -> None:
    at = cursor("a b")
    assert not at.accept("b")
    assert at.accept("a")
    assert at.token == "b"


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda at: at.expect(";", "behind the name"), "expected ';' behind the name, found"),
        (lambda at: at.string(), "expected a string in double quotes"),
        (lambda at: at.count("alignment"), "expected the alignment, a number"),
        (lambda at: [at.take() for _ in range(2)], "unexpected end of the text"),
        (lambda at: cursor("3").identifier("function"), "expected the name of a function, found"),
        (lambda at: cursor("9").count("dimension", most=5), "the dimension is 9, outside 0 to 5"),
    ],
)
def test_what_does_not_come_is_said(read: object, message: str) -> None:
    with pytest.raises(PtxError, match=message):
        read(cursor("word"))  # type: ignore[operator]


def test_a_text_may_make_so_many_things_without_writing_them_out() -> None:
    at = cursor("x")
    at.spend(MAX_EXPANSION, "registers", 0)
    with pytest.raises(PtxError, match=f"1 more registers: the text makes more than {MAX_EXPANSION}"):
        at.spend(1, "registers", 0)
