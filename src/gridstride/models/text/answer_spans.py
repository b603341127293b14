"""Where in the text of a conversation the model's own words are: what it is trained on, and nothing else.

A template that marks them (`{% generation %}`) is believed. Of any other the conversation is rendered up to each answer
and with it: what the second has more is the answer, up to the token that ends it. What a template writes behind that
token, as ChatML's line break, a model never has to say: it has stopped. That holds where a template only adds to what
it said before. One that changes it (Qwen3 takes older thoughts away) gives a text for each answer, as the model sees
the conversation when it gives that answer.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gridstride.models.errors import ModelError
from gridstride.models.text.chat import render
from gridstride.models.text.tokenizer import Tokenizer

_MARKED = re.compile(r"\{%[-+]?\s*generation\b")
Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A text, and from where to where (in characters) it is the model's."""

    text: str
    spans: tuple[tuple[int, int], ...]


def rendered(
    tokenizer: Tokenizer, template: str, messages: Messages, *, tools: Any = None, last: bool = False
) -> list[Rendered]:
    """One text, or one for each answer; `last`: only the last message counts as an answer.

    ModelError where the template refuses, or where answers cannot be told from the rest.
    """
    if _MARKED.search(template):
        return [_marked(tokenizer, template, messages, tools, last=last)]
    answers = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    answers = answers[-1:] if last else answers
    texts = [_split(tokenizer, template, messages[: index + 1], tools) for index in answers]
    full_text = _text(tokenizer, template, messages, tools)
    if all(full_text.startswith(text.text) for text in texts):
        return [Rendered(full_text, tuple(span for text in texts for span in text.spans))]
    return texts


def _split(tokenizer: Tokenizer, template: str, messages: Messages, tools: Any) -> Rendered:
    """The conversation up to an answer, which its last message is."""
    text = _text(tokenizer, template, messages, tools)
    if len(messages) == 1:
        prompt_text = text[: _first_answer(tokenizer, template, text, str(messages[0].get("content") or "").strip())]
    else:
        prompt_text = _text(tokenizer, template, messages[:-1], tools, begins=True)
    if not text.startswith(prompt_text) or len(text) == len(prompt_text):
        raise ModelError(
            "the chat template writes the messages before an answer otherwise once the answer is there, so what the "
            "model has to say cannot be told from the rest: give a template that marks it with {% generation %}"
        )
    return Rendered(text, ((len(prompt_text), _end(tokenizer, text, len(prompt_text))),))


def _first_answer(tokenizer: Tokenizer, template: str, text: str, content: str) -> int:
    """Where an answer begins before which nothing was said: templates seldom render no messages.

    Behind what the template writes to begin an answer elsewhere, else where the answer's own words are, else the end.
    """
    question = [{"role": "user", "content": "?"}]
    asked, begun = (_text(tokenizer, template, question, None, begins=begins) for begins in (False, True))
    heading = begun.removeprefix(asked)
    if begun != asked and begun.startswith(asked) and heading in text:
        return text.index(heading) + len(heading)
    return text.index(content) if content and content in text else len(text)


def _end(tokenizer: Tokenizer, text: str, start: int) -> int:
    """Where an answer that begins at `start` has ended: behind its first end token, or with the text if it has none."""
    tokens = [token for id in tokenizer.eos if (token := tokenizer.token(id))]
    return min((at + len(token) for token in tokens if (at := text.find(token, start)) >= 0), default=len(text))


def _marked(tokenizer: Tokenizer, template: str, messages: Messages, tools: Any, *, last: bool) -> Rendered:
    sign = secrets.token_hex(16)
    marks = f"\x02{sign}\x02", f"\x03{sign}\x03"
    text, spans, begin = "", [], 0
    for piece in re.split(f"({marks[0]}|{marks[1]})", _text(tokenizer, template, messages, tools, marks=marks)):
        if piece == marks[0]:
            begin = len(text)
        elif piece == marks[1]:
            spans.append((begin, len(text)))
        else:
            text += piece
    if not spans:
        raise ModelError("the chat template has {% generation %}, but marks nothing of this conversation with it")
    return Rendered(text, tuple(spans[-1:] if last else spans))


def _text(
    tokenizer: Tokenizer, template: str, messages: Messages, tools: Any, *, begins: bool = False,
    marks: tuple[str, str] = ("", ""),
) -> str:  # fmt: skip
    return render(tokenizer, messages, tools=tools, chat_template=template, add_generation_prompt=begins, marks=marks)
