"""`gridstride chat`: a conversation in the terminal, with a model here or on a server."""

from __future__ import annotations

import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from gridstride.commands.stack.model import SamplingOptions, key_in, needs, shown, usage_errors
from gridstride.commands.terminal import WrongUse

if TYPE_CHECKING:
    from gridstride.commands.stack.chat_backends import Talker
    from gridstride.serve.client.conversation import ChatHistory

_HELP = """/reset        begin anew
/system TEXT  who the model is to be; alone: nobody
/save FILE    keep the conversation as JSON
Ctrl-C stops an answer, Ctrl-D ends the chat."""


def run(
    model: str | None, *, url: str | None, system: str | None, device: str | None, dtype: str,
    quantization: str | None, api_key_file: str | None, **wishes: Any,
) -> bool:  # fmt: skip
    """Talk until Ctrl-D; False when the server cannot be reached."""
    wished = SamplingOptions(**wishes)
    wished.check()
    if sys.stdin is None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise WrongUse("a chat needs a terminal; in a pipe: gridstride generate --prompt -")
    if url is None:
        with usage_errors():
            from gridstride.commands.stack.chat_backends import local

            _talk(local(model, wished, device=device, dtype=dtype, quantization=quantization), system)
        return True
    needs("httpx", extra="serve")
    from gridstride.commands.stack.chat_backends import remote
    from gridstride.serve.client.remote import RemoteError

    try:
        _talk(remote(url, model, wished, key=key_in(api_key_file)), system)
    except RemoteError as error:
        print(f"error: {error}", file=sys.stderr)
        return False
    return True


def _talk(talker: Talker, system: str | None) -> None:
    from gridstride.serve.client.conversation import ChatHistory

    with suppress(ImportError):
        import readline  # noqa: F401  (gives `input` a history and keys to edit with)
    conversation = ChatHistory(system)
    print(f"{talker.name} answers. /help says what else there is, Ctrl-D ends.")
    while (line := _line()) is not None:
        if line.startswith("/"):
            _command(conversation, line)
        elif line.strip():
            _reply(talker, conversation, line)


def _line() -> str | None:
    """What the user says next; None at the end."""
    try:
        return input("> ").encode("utf-8", "replace").decode()
    except KeyboardInterrupt:
        print("\n(Ctrl-D ends the chat)")
        return ""
    except EOFError:
        print()
        return None


def _reply(talker: Talker, conversation: ChatHistory, line: str) -> None:
    from gridstride.commands.stack.chat_backends import CannotAnswer

    conversation.say(line)
    answer: list[str] = []
    try:
        with closing(talker.answer(conversation)) as texts:
            for text in texts:
                answer.append(text)
                print(shown(text), end="", flush=True)
        print()
    except KeyboardInterrupt:
        print("\n(stopped)")
    except CannotAnswer as error:
        print(f"{chr(10) if answer else ''}error: {error}")
    if answer:
        conversation.answered("".join(answer))
    else:
        conversation.unsay()


def _command(conversation: ChatHistory, line: str) -> None:
    word, _, argument = line.partition(" ")
    argument = argument.strip()
    if word == "/reset" and not argument:
        conversation.turns.clear()
        print("(a new conversation)")
    elif word == "/system":
        conversation.system = argument or None
        print("(from the next answer on)")
    elif word == "/save" and argument:
        print(_saved(conversation, argument))
    elif word == "/help":
        print(_HELP)
    else:
        print(f"error: {line} is no command\n{_HELP}")


def _saved(conversation: ChatHistory, file: str) -> str:
    try:
        conversation.save(file)
    except FileExistsError:
        return f"error: {file} exists: it is left as it is"
    except OSError as error:
        return f"error: {file} cannot be written: {error.strerror}"
    return f"({len(conversation.messages())} messages are in {file})"
