"""CUDA C++ to tokens: what is one token, and the way back to line and column."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gridstride.compiler.lexer import Text


def texts(source: str, **how: bool) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in Text(source).tokens(**how) if token.kind != "newline"]


def test_words_numbers_and_punctuation() -> None:
    assert texts("x::y += 1'000.5e-3f;") == [
        ("word", "x"), ("punctuation", "::"), ("word", "y"), ("punctuation", "+"), ("punctuation", "="),
        ("number", "1'000.5e-3f"), ("punctuation", ";"),
    ]  # fmt: skip


def test_comments_are_left_out_and_quotes_inside_strings_are_theirs() -> None:
    assert texts('a /* " */ "b // \\" c" // d') == [("word", "a"), ("string", '"b // \\" c"')]


def test_a_raw_string_ends_at_its_own_delimiter() -> None:
    source = 'R"x( )" )x" end'
    assert texts(source) == [("raw", 'R"x( )" )x"'), ("word", "end")]
    assert texts(source, raw_strings=False)[0] == ("word", "R")


def test_a_spliced_line_is_one_token_whose_place_is_in_the_source() -> None:
    text = Text("int ab\\\ncd;\n  x")
    token = next(token for token in text.tokens() if token.text == "abcd")
    assert text.position(token.start) == (1, 5)
    assert text.position(next(token for token in text.tokens() if token.text == "x").start) == (3, 3)


def test_lines_are_given_without_their_ends() -> None:
    text = Text("one\r\ntwo")
    assert [text.line(number) for number in range(4)] == ["", "one", "two", ""]


@given(st.text(st.sampled_from("ab1 \"'/*\\\nR()+."), max_size=40))
def test_any_text_is_taken_apart_and_every_token_stands_where_it_says(source: str) -> None:
    text = Text(source)
    assert all(text.clean[token.start : token.end] == token.text for token in text.tokens())
