"""Text to tokens off the event loop: a long prompt or a slow template holds up nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from gridstride.models.chat import render
from gridstride.models.errors import ModelError, TemplateError
from gridstride.models.tokenizer import Tokenizer
from gridstride.serve.http.errors import ApiError, sentence
from gridstride.serve.http.schemas import Conversation

T = TypeVar("T")
_THREADS = 2
_TAKEN = ("model", "messages", "tools", "add_generation_prompt", "continue_final_message")  # not the template's to say


class Prepare:
    """A model's tokenizer and chat template, on threads of their own."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="gridstride-prepare")

    async def text(self, text: str, *, special: bool = True) -> tuple[int, ...]:
        return await self._run(lambda: tuple(self.tokenizer.encode(text, special=special)))

    async def chat(self, request: Conversation) -> tuple[int, ...]:
        """A conversation as the model's template has it; the template says itself which special tokens there are."""
        return await self._run(lambda: self._chat(request))

    async def decode(self, tokens: Sequence[int]) -> str:
        return await self._run(lambda: self.tokenizer.decode(tokens, special=True))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _chat(self, request: Conversation) -> tuple[int, ...]:
        given: dict[str, Any] = request.chat_template_kwargs or {}
        values = {name: value for name, value in given.items() if name not in _TAKEN}
        try:
            text = render(
                self.tokenizer,
                [message.plain() for message in request.messages or ()],
                add_generation_prompt=request.add_generation_prompt is not False,
                continue_final_message=bool(request.continue_final_message),
                **values,
            )
        except TemplateError as error:
            raise ApiError(sentence(error.reason), param="messages") from error
        except ModelError as error:
            raise ApiError(str(error), param="messages") from error
        return tuple(self.tokenizer.encode(text, special=False))

    async def _run(self, work: Callable[[], T]) -> T:
        loop: Any = asyncio.get_running_loop()
        result: T = await loop.run_in_executor(self._threads, work)
        return result
