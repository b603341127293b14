"""A conversation: what is remembered, what is forgotten first, how it is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.serve.client.conversation import ChatHistory


def talk(*texts: str, system: str | None = None) -> ChatHistory:
    conversation = ChatHistory(system)
    for place, text in enumerate(texts):
        (conversation.answered if place % 2 else conversation.say)(text)
    return conversation


def test_the_system_message_comes_first() -> None:
    assert [m["role"] for m in talk("a", "b", system="s").messages()] == ["system", "user", "assistant"]


def test_what_was_never_answered_is_taken_back() -> None:
    conversation = talk("a", "b", "c")
    conversation.unsay()
    assert [m["content"] for m in conversation.messages()] == ["a", "b"]
    conversation.unsay()
    assert len(conversation.turns) == 2


def test_a_question_is_forgotten_with_its_answer() -> None:
    conversation = talk("a", "b", "c", "d", "e", system="s")
    assert conversation.trim(lambda messages: len(messages) <= 4) == 2
    assert [m["content"] for m in conversation.messages()] == ["s", "c", "d", "e"]


def test_nothing_is_forgotten_where_nothing_helps() -> None:
    conversation = talk("a", "b", "c", system="s")
    assert conversation.trim(lambda messages: False) is None
    assert [m["content"] for m in conversation.messages()] == ["s", "a", "b", "c"]


@given(turns=st.integers(1, 20), room=st.integers(1, 25), system=st.booleans())
def test_the_newest_always_stays_and_no_more_is_forgotten_than_must_be(turns: int, room: int, system: bool) -> None:
    conversation = talk(*map(str, range(2 * turns - 1)), system="s" if system else None)
    before = conversation.messages()
    forgotten = conversation.trim(lambda messages: len(messages) <= room)
    after = conversation.messages()
    assert after[-1] == before[-1]
    assert len(before) - len(after) == (forgotten or 0)
    if forgotten is None:
        assert room < 1 + system
    else:
        assert len(after) <= room
        assert forgotten == 0 or len(after) + 2 > room  # one pair more would not have fitted


def test_it_is_saved_as_chat_completions_take_it(tmp_path: Path) -> None:
    conversation = talk("Grüße", "b", system="s")
    conversation.save(tmp_path / "c.json")
    assert json.loads((tmp_path / "c.json").read_text())["messages"] == conversation.messages()


def test_a_file_that_exists_is_left(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("mine")
    with pytest.raises(FileExistsError):
        talk("a").save(tmp_path / "c.json")
    assert (tmp_path / "c.json").read_text() == "mine"
