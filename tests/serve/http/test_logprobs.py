"""Tokens by themselves: their bytes, put together, are the text's."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers

from gridstride.models.text.tokenizer import Tokenizer
from gridstride.serve.client.output import TextDelta
from gridstride.serve.engine.batch import TokenLogprobs
from gridstride.serve.http import logprobs


@pytest.fixture(scope="module")
def byte_level(folder: Path) -> Tokenizer:
    return Tokenizer.load(folder)


@pytest.fixture(scope="module")
def byte_fallback() -> Tokenizer:
    """As Llama 2 has it: ▁ is a space, characters without a token are spelt in bytes."""
    names = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "h", "i", "▁h", "▁hi", "é"]
    model = models.BPE(
        {name: id for id, name in enumerate(names)}, [("▁", "h"), ("▁h", "i")], unk_token="<unk>", byte_fallback=True
    )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return Tokenizer(tokenizer)


@settings(max_examples=50, deadline=None)
@given(text=st.text(max_size=20))
def test_bytes_of_tokens_are_those_of_the_text(byte_level: Tokenizer, text: str) -> None:
    tokens = byte_level.encode(text)
    assert b"".join(logprobs.token_bytes(byte_level, token) for token in tokens) == text.encode()


@settings(max_examples=50, deadline=None)
@given(text=st.text(alphabet=" hié你🙂x", max_size=20))
def test_the_same_where_bytes_are_a_fallback(byte_fallback: Tokenizer, text: str) -> None:
    tokens = byte_fallback.encode(text)
    assert b"".join(logprobs.token_bytes(byte_fallback, token) for token in tokens) == text.encode()


def test_what_is_no_whole_character_is_written_in_bytes(byte_level: Tokenizer) -> None:
    first, *_ = byte_level.encode("猫")
    assert logprobs.token_text(byte_level, first).startswith("bytes:\\xe")


def test_what_cannot_be_drawn_has_a_number_that_json_knows(byte_level: Tokenizer) -> None:
    piece = TextDelta("a", (40,), (TokenLogprobs(float("-inf"), ((40, float("-inf")),)),))
    (entry,) = logprobs.of_chat(byte_level, piece)["content"]
    assert entry["logprob"] == entry["top_logprobs"][0]["logprob"] == -9999.0
