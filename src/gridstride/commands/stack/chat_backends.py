"""Who answers in a chat: a model in this process, or one on a server."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gridstride.commands.stack.model import SamplingOptions, loaded, sampling

if TYPE_CHECKING:
    from gridstride.serve.client.conversation import ChatHistory, Message
    from gridstride.serve.client.remote import Remote
    from gridstride.serve.local import Local

_PART = 4  # one of so many parts of the context is kept for the answer


class CannotAnswer(Exception):
    """This gets no answer; the message says why. The conversation goes on."""


class Talker(Protocol):
    name: str

    def answer(self, conversation: ChatHistory) -> Generator[str]:
        """Text as it comes; the oldest messages are forgotten, with a note, where the context is full."""
        ...


def local(
    model: str | None, wishes: SamplingOptions, *, device: str | None, dtype: str, quantization: str | None
) -> Talker:
    """A model folder's; ModelError where it has no chat template."""
    from gridstride.models.huggingface.find import find
    from gridstride.models.text import chat

    folder = find(model)
    chat.render(folder, [{"role": "user", "content": "Hello"}])  # says at once where that cannot be
    return _Here(folder, loaded(folder, device=device, dtype=dtype, quantization=quantization), wishes)


def remote(url: str, model: str | None, wishes: SamplingOptions, *, key: str | None) -> Talker:
    """A server's; RemoteError where it cannot be reached."""
    from gridstride.serve.client.remote import Remote

    return _There(Remote(url, model=model, key=key), wishes)


def _note(forgotten: int) -> str:
    return f"(the context is full: the oldest {forgotten} messages are forgotten)\n" if forgotten else ""


class _Here:
    def __init__(self, folder: Path, model: Local, wishes: SamplingOptions) -> None:
        self.name = f"{folder} on {model.ready.device}"
        self._folder, self._model, self._wishes = folder, model, wishes

    def answer(self, conversation: ChatHistory) -> Generator[str]:
        from gridstride.models.errors import ModelError

        try:
            tokens = self._fitting(conversation)
        except ModelError as error:  # the template will have none of it
            raise CannotAnswer(str(error)) from error
        most = min(self._answer_tokens(), self._model.ready.longest - len(tokens))
        for _, piece in self._model.answers(tokens, [sampling(self._folder, self._wishes, max_tokens=most)]):
            if piece.error is not None:
                raise CannotAnswer(piece.error)
            yield piece.text
            if piece.finish == "length":
                print(f"\n(cut after {most} tokens: --max-tokens allows more)", end="")

    def _fitting(self, conversation: ChatHistory) -> list[int]:
        longest = self._model.ready.longest
        for_answer = min(self._answer_tokens(), max(1, longest // _PART))
        forgotten = conversation.trim(lambda messages: len(self._tokens(messages)) + for_answer <= longest)
        if forgotten is None:
            count = len(self._tokens(conversation.messages()[-1:]))
            raise CannotAnswer(f"the message has {count} tokens; {longest} fit, with {for_answer} for the answer")
        print(_note(forgotten), end="")
        return self._tokens(conversation.messages())

    def _answer_tokens(self) -> int:
        """Tokens of an answer, at most: an answer that fills the context leaves no room for what comes next."""
        return self._wishes.max_tokens or max(1, self._model.ready.longest // _PART)

    def _tokens(self, messages: Sequence[Message]) -> list[int]:
        from gridstride.models.text import chat

        tokenizer = self._model.tokenizer
        return tokenizer.encode(chat.render(tokenizer, messages), special=False)


class _There:
    def __init__(self, server: Remote, wishes: SamplingOptions) -> None:
        self.name = server.model
        self._server = server
        self._wishes: dict[str, Any] = wishes.given()
        for name in ("max_tokens", "seed"):
            if (value := getattr(wishes, name)) is not None:
                self._wishes[name] = value

    def answer(self, conversation: ChatHistory) -> Generator[str]:
        from gridstride.serve.client.remote import RemoteError, TooLong

        turn_count = len(conversation.turns)
        try:
            while True:
                try:
                    yield from self._texts(conversation, turn_count - len(conversation.turns))
                    return
                except TooLong as error:
                    if not conversation.forget_oldest():
                        raise CannotAnswer(str(error)) from error
        except RemoteError as error:
            raise CannotAnswer(str(error)) from error

    def _texts(self, conversation: ChatHistory, forgotten: int) -> Generator[str]:
        note = _note(forgotten)
        for text in self._server.answer(conversation.messages(), self._wishes):
            print(note, end="")
            note = ""
            yield text
