"""`gridstride chat`: a conversation in a real terminal, and its parts with a model that a test speaks for."""

from __future__ import annotations

import builtins
import json
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_server import serving
from terminal import Terminal
from tiny import write_model

from gridstride.commands.stack import chat, chat_backends
from gridstride.commands.stack.model import SamplingOptions
from gridstride.serve.client.conversation import ChatHistory


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


class Echo:
    """Answers with what it was told last."""

    name = "echo"

    def __init__(self) -> None:
        self.heard: list[list[dict[str, str]]] = []

    def answer(self, conversation: ChatHistory) -> Generator[str]:
        self.heard.append(conversation.messages())
        last = conversation.turns[-1]["content"]
        if "refuse" in last:
            raise chat_backends.CannotAnswer("no")
        yield last.upper()
        if "stop" in last:
            raise KeyboardInterrupt
        if "break" in last:
            raise chat_backends.CannotAnswer("gone")
        yield "!"


Said = Callable[..., tuple[str, list[list[dict[str, str]]]]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """What is shown, and what the model heard, when these lines are typed."""

    def talk(*lines: str | type[BaseException], system: str | None = None) -> Any:
        typed: Iterator[Any] = iter([*lines, EOFError])

        def line(_: str) -> str:
            given = next(typed)
            if isinstance(given, str):
                return given
            raise given

        monkeypatch.setattr(builtins, "input", line)
        echo = Echo()
        chat._talk(echo, system)
        return capsys.readouterr().out, echo.heard

    return talk


def contents(messages: list[dict[str, str]]) -> list[str]:
    return [message["content"] for message in messages]


def test_what_was_said_is_remembered(said: Said) -> None:
    shown, heard = said("one", "", "two", system="be brief")
    assert "ONE!\nTWO!\n" in shown
    assert contents(heard[-1]) == ["be brief", "one", "ONE!", "two"]


def test_a_stopped_answer_is_remembered_as_far_as_it_came(said: Said) -> None:
    shown, heard = said("stop here", "go on")
    assert "STOP HERE\n(stopped)\nGO ON!" in shown
    assert contents(heard[-1]) == ["stop here", "STOP HERE", "go on"]


def test_what_gets_no_answer_is_not_remembered(said: Said) -> None:
    shown, heard = said("refuse", "a", "break", "b")
    assert "error: no\n" in shown
    assert "BREAK\nerror: gone\n" in shown
    assert contents(heard[-1]) == ["a", "A!", "break", "BREAK", "b"]


def test_ctrl_c_at_the_prompt_does_not_end_the_chat(said: Said) -> None:
    shown, heard = said(KeyboardInterrupt, "a")
    assert "(Ctrl-D ends the chat)" in shown
    assert len(heard) == 1


def test_a_reset_forgets_all_but_who_the_model_is(said: Said) -> None:
    _, heard = said("a", "/reset", "b", system="s")
    assert contents(heard[-1]) == ["s", "b"]


def test_who_the_model_is_can_change(said: Said) -> None:
    _, heard = said("/system a pirate", "a", "/system", "b")
    assert contents(heard[0]) == ["a pirate", "a"]
    assert contents(heard[1]) == ["a", "A!", "b"]


def test_a_conversation_is_saved_and_nothing_is_written_over(said: Said, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    shown, _ = said("a", f"/save {file}", "b", f"/save {file}", "/save /nowhere/at/all")
    assert contents(json.loads(file.read_text())["messages"]) == ["a", "A!"]
    assert f"(2 messages are in {file})" in shown
    assert f"error: {file} exists: it is left as it is" in shown
    assert "error: /nowhere/at/all cannot be written: No such file or directory" in shown


@pytest.mark.parametrize("line", ["/", "/quit", "/save", "/reset now", "/System x"])
def test_what_is_no_command_is_told(line: str, said: Said) -> None:
    shown, heard = said(line)
    assert f"error: {line} is no command" in shown
    assert not heard


def test_bytes_that_are_no_text_do_not_end_the_chat(said: Said) -> None:
    assert "A?!" in said("a\udcff")[0]


# With a model


def here(path: Path, **wishes: Any) -> chat_backends.Talker:
    return chat_backends.local(str(path), SamplingOptions(**wishes), device="cpu", dtype="auto", quantization=None)


def test_the_oldest_is_forgotten_with_a_note_when_the_context_is_full(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talker, conversation = here(path, max_tokens=10), ChatHistory("be brief")
    for number in range(8):
        conversation.say(f"import {number}")
        conversation.answered("".join(talker.answer(conversation)))
    shown = capsys.readouterr().out
    assert "(the context is full: the oldest 2 messages are forgotten)" in shown
    assert conversation.system == "be brief"
    assert conversation.turns[-2]["content"] == "import 7"


def test_an_answer_that_was_cut_says_so(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conversation = ChatHistory()
    conversation.say("import")
    assert "".join(here(path, max_tokens=3, temperature=0.0).answer(conversation))
    assert "(cut after 3 tokens: --max-tokens allows more)" in capsys.readouterr().out


def test_a_message_that_cannot_fit_is_told_and_nothing_forgotten(path: Path) -> None:
    conversation = ChatHistory()
    conversation.say("a")
    conversation.answered("b")
    conversation.say("xyz " * 99)
    with pytest.raises(
        chat_backends.CannotAnswer, match=r"the message has \d+ tokens; 128 fit, with 32 for the answer"
    ):
        list(here(path).answer(conversation))
    assert len(conversation.turns) == 3


def test_a_model_without_a_template_cannot_chat(tmp_path: Path) -> None:
    from gridstride.models.errors import ModelError

    with pytest.raises(ModelError, match="has no chat template"):
        here(write_model(tmp_path, template=None))


def test_a_server_that_finds_it_too_long_gets_less_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    conversation = ChatHistory()
    for text in ("a", "b", "c"):
        conversation.say(text)
        conversation.answered(text)
    conversation.say("d")
    with serving(most_messages=3) as fake:
        talker = chat_backends.remote(fake.url, None, SamplingOptions(max_tokens=2, temperature=0.5), key=None)
        assert "".join(talker.answer(conversation)) == "x x "
    assert contents(conversation.turns) == ["c", "c", "d"]
    assert "the oldest 4 messages are forgotten" in capsys.readouterr().out
    assert (fake.bodies[-1]["max_tokens"], fake.bodies[-1]["temperature"]) == (2, 0.5)


# In a terminal


def test_a_chat_with_a_model_here(path: Path) -> None:
    with Terminal("chat", str(path), "--device", "cpu", "--max-tokens", "8", "--temperature", "0") as terminal:
        assert "on cpu answers" in terminal.until("> ")
        terminal.type("import os\n")
        answer = terminal.until(r"\n(?=> )").removeprefix("import os\n")
        assert answer.strip()
        terminal.until("> ")
        terminal.type("\x04")
        assert terminal.end() == 0


def test_ctrl_c_stops_the_answer_and_not_the_chat() -> None:
    with serving(gap=0.1) as fake, Terminal("chat", "--url", fake.url, "--max-tokens", "5000") as terminal:
        terminal.until("> ")
        terminal.type("talk\n")
        terminal.until("x x x ")
        terminal.interrupt()
        terminal.until(r"\(stopped\)\n> ")
        terminal.type("again\n")
        terminal.until("x x ")
        terminal.interrupt()
        terminal.until(r"\(stopped\)\n> ")
        terminal.type("\x04")
        assert terminal.end() == 0
    assert contents(fake.bodies[-1]["messages"])[0::2] == ["talk", "again"]


def test_a_server_that_goes_does_not_end_the_chat() -> None:
    with serving(fault="cut") as fake, Terminal("chat", "--url", fake.url, "--max-tokens", "9") as terminal:
        terminal.until("> ")
        terminal.type("talk\n")
        terminal.until(r"x \nerror: .* is gone.*\n> ")
        terminal.type("\x04")
        assert terminal.end() == 0


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gridstride", "chat", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def test_without_a_terminal_it_says_what_to_do() -> None:
    done = command()
    assert done.returncode == 2
    assert "a chat needs a terminal; in a pipe: gridstride generate --prompt -" in done.stderr


def test_no_server_is_a_failure() -> None:
    with Terminal("chat", "--url", "http://127.0.0.1:9") as terminal:
        terminal.until(r"error: http://127.0.0.1:9 cannot be reached.*\n")
        assert terminal.end() == 1
