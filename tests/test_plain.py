"""Text from strangers, on its way to a terminal, a page or JSON."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.plain import plain, plain_json

STRANGE = {
    "C0": "\033]0;owned\007", "backspace": "a\b", "return": "a\rb", "C1": "\x9b2J", "override": "\u202e",
    "isolate": "\u2066", "zero width": "\u200b", "joiner": "\u200d", "mark": "\ufeff", "tag": "\U000e0041",
    "line": "\u2028",
    "surrogate": "\ud800", "filler": "\u3164", "variant": "\ufe0f", "private": "\ue000",
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_what_a_terminal_obeys_or_nobody_sees_is_replaced(name: str) -> None:
    shown = plain(STRANGE[name])
    assert "\N{REPLACEMENT CHARACTER}" in shown
    assert plain(shown) == shown


def test_what_people_write_stays() -> None:
    text = "x × y – 16\u2009KiB, größer, 行, العربية\n\tif (i < n) {}"
    assert plain(text) == text


@given(st.text(st.characters()))
def test_no_control_or_format_is_left_and_the_length_stays(text: str) -> None:
    shown = plain(text)
    assert len(shown) == len(text)
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in shown)
    shown.encode()


def test_every_text_of_an_object_is_made_plain() -> None:
    thing = {"a\033": ["\007", {"b": ("\u202e", 1, None)}]}
    assert plain_json(thing) == {"a�": ["�", {"b": ["�", 1, None]}]}
