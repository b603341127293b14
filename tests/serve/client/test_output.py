"""Tokens to text: stop strings that span tokens are never shown, not even in part."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.serve.client.output import RequestOutput, TextDelta
from gridstride.serve.engine.batch import TokenLogprobs
from gridstride.serve.engine.messages import Update

END = 255


class Bytes:
    """A tokenizer whose tokens are characters, and a stream that keeps back what follows a backslash."""

    eos = frozenset({END})

    def stream(self, *, special: bool = False, shown: frozenset[int] = frozenset()) -> Bytes:
        self.kept = ""
        return self

    def push(self, *ids: int) -> str:
        text, self.kept = self.kept + "".join(map(chr, ids)), ""
        if text.endswith("\\"):
            text, self.kept = text[:-1], "\\"
        return text

    def finish(self) -> str:
        return self.kept


def pushed(text: str, cuts: list[int], stop: list[str], finish: str = "length") -> list[TextDelta]:
    """The text in updates that end at `cuts`."""
    output = RequestOutput(Bytes(), stop)
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(text)}), len(text)]
    parts = [tuple(map(ord, text[a:b])) for a, b in pairwise(edges)]
    last = len(parts) - 1
    return [
        output.push(Update(id="a", tokens=part, finish=finish if i == last else None))  # type: ignore[arg-type]
        for i, part in enumerate(parts)
    ]


@given(
    st.text("abc\\", max_size=30),
    st.lists(st.integers(0, 30)),
    st.lists(st.text("abc\\", min_size=1, max_size=4), max_size=3),
)
def test_the_text_up_to_the_first_stop_string_comes_whole(text: str, cuts: list[int], stop: list[str]) -> None:
    pieces = pushed(text, cuts, stop)
    shown = "".join(piece.text for piece in pieces)
    ends = [i for i in range(len(text) + 1) if any(text[:i].endswith(each) for each in stop)]
    if ends:  # the first stop string to be complete ends it
        whole = text[: ends[0]]
        assert shown == whole[: min(whole.find(each) for each in stop if each in whole)]
        assert [piece.finish for piece in pieces if piece.finish] == ["stop"]
    else:
        assert shown == text
        assert pieces[-1].finish == "length"


def test_of_two_stop_strings_in_one_token_the_one_that_is_complete_first_ends_it() -> None:
    (piece,) = pushed("a\\a", [], ["\\", "a\\a"])
    assert piece.text == "a"


def test_what_could_begin_a_stop_string_waits() -> None:
    pieces = pushed("xEN", [1, 2], ["END"])
    assert [piece.text for piece in pieces] == ["x", "", "EN"]
    assert [piece.text for piece in pushed("xENx", [3], ["END"])] == ["x", "ENx"]


def test_tokens_after_the_stop_string_do_not_count() -> None:
    output = RequestOutput(Bytes(), ["b"])
    logprobs = tuple(TokenLogprobs(-float(n), ()) for n in range(3))
    piece = output.push(Update(id="a", tokens=(97, 98, 99), logprobs=logprobs))
    assert (piece.text, piece.tokens, piece.logprobs) == ("a", (97, 98), logprobs[:2])
    assert output.push(Update(id="a", tokens=(97,), finish="length")) == TextDelta("")


def test_the_token_that_ends_the_text_is_not_shown() -> None:
    assert RequestOutput(Bytes()).push(Update(id="a", tokens=(97, END), finish="stop")).text == "a"
    assert RequestOutput(Bytes(), stop_tokens={98}).push(Update(id="a", tokens=(97, 98), finish="stop")).text == "a"
    assert RequestOutput(Bytes(), stop_tokens={98}).push(Update(id="a", tokens=(97, 98), finish="length")).text == "ab"


def test_an_error_is_passed_on_with_the_text_so_far() -> None:
    output = RequestOutput(Bytes(), ["ab"])
    assert output.push(Update(id="a", tokens=(97,))).text == ""
    assert output.push(Update(id="a", finish="error", error="no")) == TextDelta("a", finish="error", error="no")


def test_an_empty_stop_string_is_refused() -> None:
    with pytest.raises(ValueError, match="empty stop string"):
        RequestOutput(Bytes(), ["x", ""])


def test_a_stop_string_ends_nothing_before_the_least_tokens() -> None:
    output = RequestOutput(Bytes(), ["b"], min_tokens=4)
    pieces = [output.push(Update(id="a", tokens=tuple(map(ord, part)))) for part in ("ab", "ca", "aba")]
    assert "".join(piece.text for piece in pieces) == "abcaa"
    assert [piece.finish for piece in pieces] == [None, None, "stop"]
