"""The chat page: without a server, and with a small one."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from model_server import model_server
from nicegui import ui
from page_elements import Visit

from gridstride.workbench.pages import chat


def test_a_chat_without_a_server_says_how_to_start_one(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:  # bound and not listening: nobody answers there, and nobody else takes it
        free.bind(("127.0.0.1", 0))
        monkeypatch.setattr(chat, "_PORT", free.getsockname()[1])

        async def scenario(user: Any, _: Any) -> None:
            await user.open("/chat")
            await user.should_see("No model can be talked to", retries=50)
            await user.should_see("gridstride serve FOLDER")
            await user.should_not_see("Send")

        visit(scenario)


def test_a_chat_shows_the_answer_and_keeps_what_was_not_answered(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server(["Warps ", "wait."], "out of memory") as (port, asked):
        monkeypatch.setattr(chat, "_PORT", port)

        async def scenario(user: Any, _: Any) -> None:
            await user.open("/chat")
            await user.should_see("tiny answers", retries=50)
            (field,) = user.find(ui.textarea).elements
            field.value = "What do warps do?"
            user.find("Send").click()
            await user.should_see("Warps wait.", retries=50)
            field.value = "And then?"
            user.find("Send").click()
            await user.should_see("the server says 500: out of memory", retries=50)
            assert field.value == "And then?"

        visit(scenario)
    assert [len(each["messages"]) for each in asked] == [1, 3]
