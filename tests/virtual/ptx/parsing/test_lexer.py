"""PTX to tokens: what is one token, what is left out, and what has no place in PTX."""

from __future__ import annotations

import pytest

from gridstride.virtual.ptx import PtxError
from gridstride.virtual.ptx.parsing.lexer import Tokens


def texts(source: str) -> list[str]:
    return [text for text in Tokens(source).texts if text]


@pytest.mark.parametrize(
    "token", ["ld.global.L1::no_allocate.v4.f32", "%tid.x", ".param", "0f3F800000", "1.5e-3", "<<", '"a b"', "0x1Fu"]
)
def test_one_token(token: str) -> None:
    assert texts(f" {token} ") == [token]


def test_comments_and_the_debugger_s_sections_are_left_out() -> None:
    assert texts("ret // end\n/* more\n */;\n.section .debug_loc { .b8 1 }\n@@DWARF .byte 1\nexit") == [
        "ret",
        ";",
        "exit",
    ]


def test_it_ends_in_two_empty_tokens_for_what_looks_ahead() -> None:
    assert Tokens("ret;\0").texts == ["ret", ";", "", "", ""]


def test_a_token_knows_its_line() -> None:
    tokens = Tokens("one\n\ntwo three\n")
    assert [tokens.line(index) for index in range(3)] == [1, 3, 3]


@pytest.mark.parametrize(
    ("source", "message"),
    [("mov /* x", "comment is not closed"), ('.file "x\n', "string is not closed"), ("mov é", "PTX is ASCII"),
     ("mov `", "has no place in PTX")],
)  # fmt: skip
def test_what_is_no_ptx_is_refused_with_its_place(source: str, message: str) -> None:
    with pytest.raises(PtxError, match=message) as caught:
        Tokens(source)
    assert caught.value.line == 1
