"""Text to tokens and back: whole, and one token after another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from gridstride.models.errors import ModelError
from gridstride.models.text.tokenizer import Tokenizer

from ..texts import byte_fallback, byte_level, metaspace, write

KINDS = {"byte level": byte_level, "byte fallback": byte_fallback, "metaspace": metaspace}


def streamed(tokenizer: Tokenizer, ids: list[int]) -> list[str]:
    stream = tokenizer.stream()
    return [*(stream.push(id) for id in ids), stream.finish()]


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_a_stream_of_any_tokens_is_the_whole_decode(kind: str, data: st.DataObject) -> None:
    tokenizer = Tokenizer(KINDS[kind]())
    ids = data.draw(st.lists(st.integers(0, tokenizer.vocabulary + 2), max_size=40))
    assert "".join(streamed(tokenizer, ids)) == tokenizer.decode(ids)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_many_tokens_at_a_time_give_the_same_text(kind: str, data: st.DataObject) -> None:
    tokenizer = Tokenizer(KINDS[kind]())
    groups = data.draw(st.lists(st.lists(st.integers(0, tokenizer.vocabulary + 2), max_size=12), max_size=6))
    alone, together = tokenizer.stream(), tokenizer.stream()
    for group in groups:
        assert together.push(*group) == "".join(alone.push(id) for id in group)
    assert together.finish() == alone.finish()


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(max_size=30).filter(lambda text: "\ufffd" not in text))
def test_no_piece_of_a_text_holds_half_a_character(kind: str, text: str) -> None:
    tokenizer = Tokenizer(KINDS[kind]())
    pieces = streamed(tokenizer, tokenizer.encode(text))
    assert not any("\ufffd" in piece for piece in pieces)


@given(text=st.text(max_size=30))
def test_every_text_survives_bytes(text: str) -> None:
    tokenizer = Tokenizer(byte_level())
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_character_comes_with_its_last_token() -> None:
    tokenizer = Tokenizer(byte_level(258))  # bytes alone
    ids = tokenizer.encode("a🙂b")
    assert streamed(tokenizer, ids) == ["a", "", "", "", "🙂", "b", ""]


def test_what_is_cut_within_a_character_ends_with_a_replacement() -> None:
    tokenizer = Tokenizer(byte_level(258))
    assert "".join(streamed(tokenizer, tokenizer.encode("a🙂")[:-1])) == "a\ufffd"


def test_endless_garbage_is_given_as_it_comes() -> None:
    tokenizer = Tokenizer(byte_level(258))
    stream = tokenizer.stream()
    (half,) = tokenizer.encode("é")[:1]
    assert sum(len(stream.push(half)) for _ in range(100)) == 99


def test_special_tokens_are_found_in_text_and_left_out_of_it() -> None:
    tokenizer = Tokenizer(byte_level())
    ids = tokenizer.encode("<|start|>hi<|end|>")
    assert ids[0] == tokenizer.id("<|start|>")
    assert ids[-1] == tokenizer.id("<|end|>")
    assert tokenizer.decode(ids) == "hi"
    assert tokenizer.decode(ids, special=True) == "<|start|>hi<|end|>"


@pytest.mark.parametrize(
    ("files", "eos"),
    [
        ({}, set()),
        ({"config": {"vocab_size": 300, "eos_token_id": 5}}, {5}),
        ({"config": {"vocab_size": 300, "eos_token_id": 5}, "generation_config": {"eos_token_id": [6, 7]}}, {6, 7}),
        ({"generation_config": {"eos_token_id": 6}, "tokenizer_config": {"eos_token": "<|end|>"}}, {0, 6}),
        ({"tokenizer_config": {"eos_token": {"content": "<|end|>"}}}, {0}),
        ({"special_tokens_map": {"eos_token": {"content": "<|start|>"}}}, {1}),
        ({"config": {"vocab_size": 300, "eos_token_id": 50256}}, set()),  # of the family, not of this vocabulary
    ],
)
def test_the_ends_of_an_answer_are_those_the_folder_names(files: Any, eos: set[int], tmp_path: Path) -> None:
    assert Tokenizer.load(write(tmp_path, byte_level(), **files)).eos == eos


@pytest.mark.parametrize("value", ["5", [5, "x"], -1, True, 1.5])
def test_an_end_that_is_no_id_is_refused(value: Any, tmp_path: Path) -> None:
    write(tmp_path, byte_level(), generation_config={"eos_token_id": value})
    with pytest.raises(ModelError, match=r"generation_config.json: eos_token_id is"):
        Tokenizer.load(tmp_path)


def test_a_larger_vocabulary_than_the_models_is_refused(tmp_path: Path) -> None:
    write(tmp_path, byte_level(), config={"vocab_size": 299})
    with pytest.raises(ModelError, match=r"vocab_size is 299: tokenizer.json has ids up to 299"):
        Tokenizer.load(tmp_path)


def test_a_padded_vocabulary_of_the_model_is_fine(tmp_path: Path) -> None:
    assert Tokenizer.load(write(tmp_path, byte_level(), config={"vocab_size": 320})).vocabulary == 300


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "there is no"),
        (b"", "is no tokenizer"),
        (b"{}", "is no tokenizer"),
        (b"\xff\xfe", "is not text in UTF-8"),
        (b'{"version": "1.0", "model": {"type": "Novel"}}', "is no tokenizer"),
    ],
)
def test_a_broken_tokenizer_is_refused(content: bytes | None, told: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(ModelError, match=told):
        Tokenizer.load(tmp_path)


@settings(max_examples=30)
@given(text=st.text(max_size=40))
def test_tokens_are_those_of_transformers(text: str) -> None:
    theirs = PreTrainedTokenizerFast(tokenizer_object=byte_level(), eos_token="<|end|>")
    ours = Tokenizer(byte_level())
    ids = theirs.encode(text + "<|end|>")
    assert ours.encode(text + "<|end|>") == ids
    assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


def test_a_tokenizer_that_would_cut_or_pad_does_neither(tmp_path: Path) -> None:
    import tokenizers

    cutting = tokenizers.Tokenizer.from_str(byte_level().to_str())
    cutting.enable_truncation(4)
    cutting.enable_padding(length=4)
    tokenizer = Tokenizer.load(write(tmp_path, cutting))
    assert len(tokenizer.encode("xyxyxyxyxyxy")) > 4
    assert len(tokenizer.encode("x")) == 1


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_a_stream_shows_the_special_tokens_that_are_wanted(kind: str, data: st.DataObject) -> None:
    """Marks of calls are special tokens of some models; ends of texts stay hidden."""
    tokenizer = Tokenizer(KINDS[kind]())
    mark = min(tokenizer.special)
    ids = data.draw(st.lists(st.sampled_from([*tokenizer.special, mark, *range(40, 60)]), max_size=20))
    stream = tokenizer.stream(shown=frozenset({mark}))
    text = "".join([*(stream.push(id) for id in ids), stream.finish()])
    kept = [id for id in ids if id == mark or id not in tokenizer.special]
    assert text == tokenizer.decode(kept, special=True)
