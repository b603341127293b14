"""Text to tokens, all but short ones off the event loop: a long prompt or a slow template holds up nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from gridstride.models.errors import ModelError, TemplateError
from gridstride.models.text.chat import render, template
from gridstride.models.text.tokenizer import Tokenizer
from gridstride.serve.answers.formats import CallFormat, Marks, format_of, takes_one_call, thoughts_of
from gridstride.serve.http.errors import ApiError, sentence
from gridstride.serve.http.requests.messages import Conversation, plain
from gridstride.serve.http.requests.tools import Tool

T = TypeVar("T")
_THREADS = 2
_SHORT, _FEW = 1024, 16
"""Characters and messages that take less than 0.3 ms, and to hand them to a thread would cost as much."""
# Not the template's to say:
_TAKEN = ("model", "messages", "tools", "chat_template", "add_generation_prompt", "continue_final_message")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A conversation as the model sees it."""

    tokens: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Manner:
    """How the model writes what is no plain text, by its chat template."""

    calls: CallFormat | None = None  # of tools
    one_call: bool = False  # in a message
    thoughts: Marks | None = None


class Prepare:
    """A model's tokenizer and chat template, on threads of their own."""

    def __init__(self, tokenizer: Tokenizer, chat_template: str | None = None) -> None:
        """`chat_template`: instead of the folder's."""
        self.tokenizer, self._template = tokenizer, chat_template
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="gridstride-prepare")

    async def text(self, text: str, *, special: bool = True) -> tuple[int, ...]:
        if len(text) <= _SHORT:
            return tuple(self.tokenizer.encode(text, special=special))
        return await self.run(lambda: tuple(self.tokenizer.encode(text, special=special)))

    @cached_property
    def manner(self) -> Manner:
        folder = self.tokenizer.folder
        text = self._template
        if text is None and folder is not None:
            text = template(folder)
        if text is None:
            return Manner()
        calls = format_of(text)
        return Manner(calls, calls is not None and takes_one_call(calls, text), thoughts_of(text))

    async def chat(self, request: Conversation, tools: Sequence[Tool] | None = None) -> Prompt:
        """A conversation as the model's template has it; the template says itself which special tokens there are."""
        messages = request.messages or ()
        plain = not tools and not request.chat_template_kwargs
        if plain and len(messages) <= _FEW and sum(message.size for message in messages) <= _SHORT:
            return self._chat(request, tools)
        return await self.run(lambda: self._chat(request, tools))

    async def decode(self, tokens: Sequence[int]) -> str:
        return await self.run(lambda: self.tokenizer.decode(tokens, special=True))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _chat(self, request: Conversation, tools: Sequence[Tool] | None) -> Prompt:
        chosen: dict[str, Any] = request.chat_template_kwargs or {}
        values = {name: value for name, value in chosen.items() if name not in _TAKEN}
        if getattr(request, "reasoning_effort", None) == "none":
            values.setdefault("enable_thinking", False)
        try:
            text = render(
                self.tokenizer,
                plain(request.messages or [], str if self.manner.calls is None else self.manner.calls.accepted_id),
                tools=[tool.plain() for tool in tools] if tools else None,
                add_generation_prompt=request.add_generation_prompt is not False,
                continue_final_message=bool(request.continue_final_message),
                chat_template=self._template,
                **values,
            )
        except TemplateError as error:
            raise ApiError(sentence(error.reason), param="messages") from error
        except ModelError as error:
            raise ApiError(str(error), param="messages") from error
        return Prompt(tuple(self.tokenizer.encode(text, special=False)), text)

    async def run(self, work: Callable[[], T]) -> T:
        """What takes long, off the event loop."""
        loop: Any = asyncio.get_running_loop()
        result: T = await loop.run_in_executor(self._threads, work)
        return result
