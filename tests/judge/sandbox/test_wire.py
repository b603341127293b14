"""Messages between a judge and its worker: whole ones come through, and nothing goes beyond its bounds."""

from __future__ import annotations

import io
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.judge.sandbox.wire import Bounds, MessageReader, WireError, WireMessage, packed, read

BOUNDS = Bounds(words=1000, buffers=3, nbytes=100)
WORDS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.none(), max_size=4)
MESSAGES = st.builds(WireMessage, WORDS, st.lists(st.binary(max_size=30), max_size=3))


@given(MESSAGES, st.integers(1, 40))
def test_a_message_in_pieces_comes_whole(message: WireMessage, piece: int) -> None:
    data, reader = packed(message), MessageReader(BOUNDS)
    got = [reader.feed(data[at : at + piece]) for at in range(0, len(data), piece)]
    assert got[:-1] == [None] * (len(got) - 1)
    assert got[-1] is not None
    assert (got[-1].words, list(map(bytes, got[-1].buffers))) == (message.words, message.buffers)


@given(st.lists(MESSAGES, max_size=3))
def test_a_stream_gives_one_message_after_the_other(messages: list[WireMessage]) -> None:
    stream = io.BytesIO(b"".join(map(packed, messages)))
    for message in messages:
        assert read(stream.read) == message
    assert read(stream.read) is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (struct.pack("<II", 1001, 0), "1001 characters and 0 buffers"),
        (struct.pack("<II", 2, 4), "2 characters and 4 buffers"),
        (struct.pack("<IIQQ", 2, 2, 60, 60), "a message of 120 bytes"),
        (struct.pack("<II", 2, 0) + b"[]", "no object"),
        (struct.pack("<II", 2, 0) + b"{,", "no JSON"),
        (struct.pack("<II", 900, 0) + b"[" * 900, "no JSON"),
        (packed(WireMessage({})) + b"x", "more than one message"),
    ],
)
def test_what_is_no_message_or_too_much_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(WireError, match=message):
        MessageReader(BOUNDS).feed(data)


def test_a_message_without_buffers_is_its_words_and_eight_bytes() -> None:
    assert packed(WireMessage({"a": 1}))[8:] == json.dumps({"a": 1}).encode()
