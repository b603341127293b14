"""A conversation with a served model: what is sent, what is kept, and what is said where nobody answers."""

from __future__ import annotations

import asyncio
import socket

import pytest
from model_server import model_server

from gridstride.workbench.talk import NoServer, Talk

FULL = (400, "context_length_exceeded", "too long")


def test_the_whole_conversation_is_sent_each_time() -> None:
    with model_server(["Hel", "lo."], ["Fine."]) as (port, asked):
        talk = Talk(port)

        async def scenario() -> None:
            await talk.connect()
            await talk.say("Hello")
            await talk.say("How are you?")

        asyncio.run(scenario())
        talk.close()
    assert talk.model == "tiny"
    assert [turn["content"] for turn in asked[1]["messages"]] == ["Hello", "Hello.", "How are you?"]
    assert talk.answer == "Fine."


def test_the_oldest_is_forgotten_where_the_context_is_full() -> None:
    with model_server(["One."], FULL, ["Two."]) as (port, asked):
        talk = Talk(port)

        async def scenario() -> None:
            await talk.connect()
            await talk.say("first")
            await talk.say("second")

        asyncio.run(scenario())
        talk.close()
    assert [len(each["messages"]) for each in asked] == [1, 3, 1]
    assert (talk.forgotten, talk.answer) == (2, "Two.")


def test_what_fits_in_no_way_was_not_said() -> None:
    with model_server(FULL) as (port, _):
        talk = Talk(port)

        async def scenario() -> None:
            await talk.connect()
            with pytest.raises(NoServer, match="too long"):
                await talk.say("a book")

        asyncio.run(scenario())
        talk.close()
    assert talk.conversation.turns == []


def test_where_nobody_listens_the_address_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(NoServer, match=f"http://127.0.0.1:{port} cannot be reached: Connection refused"):
            asyncio.run(Talk(port).connect())
