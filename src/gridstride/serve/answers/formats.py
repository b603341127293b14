"""How calls of tools, and thoughts, look in a model's text: a row for each format, known by the chat template."""

from __future__ import annotations

import hashlib
import secrets
import string
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

Glue: TypeAlias = tuple[str, ...]
"""Regular expressions, as Python and llguidance both read them, and marks in turn. A mark may be a special token."""

_ALPHABET = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFormat:
    """An answer with calls is text, `opening`, `first`, the calls with `between` between them, `last`.

    A call is `head`, the tool's name, `middle`, its arguments as JSON, `tail`.
    """

    name: str
    shown: tuple[str, ...]  # templates of this format have all of these
    absent: tuple[str, ...]  # and none of these
    single: tuple[str, ...]  # templates that have one of these take one call in a message
    opening: str  # a mark
    bare: str  # an answer that begins with this is a call without the mark; "" where there is no such thing
    first: Glue
    between: Glue
    last: Glue
    head: Glue
    middle: Glue
    tail: Glue
    id_length: int | None  # letters and digits of a call's id where the template counts them

    @property
    def marks(self) -> frozenset[str]:
        glue = (self.first, self.between, self.last, self.head, self.middle, self.tail)
        return frozenset({self.opening, *(mark for name in glue for mark in name[1::2])})

    def new_id(self) -> str:
        """Of a call that was made now."""
        if self.id_length is None:
            return f"call_{secrets.token_hex(12)}"
        return "".join(secrets.choice(_ALPHABET) for _ in range(self.id_length))

    def accepted_id(self, id: str) -> str:
        """An id that a client gave, as the template takes it: the same for the same one."""
        if self.id_length is None or (len(id) == self.id_length and id.isascii() and id.isalnum()):
            return id
        return hashlib.sha256(id.encode()).hexdigest()[: self.id_length]


@dataclass(frozen=True, slots=True)
class Marks:
    """Between these a model thinks, before it answers."""

    opening: str
    closing: str


FORMATS = (
    CallFormat(
        name="hermes",  # Qwen 2.5 and 3, Hermes 2 and 3
        shown=("<tool_call>",), absent=("<function=",), single=(), opening="<tool_call>", bare="",
        first=(r"\n?",), between=(r"\n?", "</tool_call>", r"\n?", "<tool_call>", r"\n?"), last=(r"\n?", "</tool_call>"),
        head=(r'\{"name": ?"',), middle=(r'", ?"arguments": ?',), tail=(r"\}",), id_length=None,
    ),
    CallFormat(
        name="llama3",  # 3.1, 3.2, 3.3: what their templates ask for in words
        shown=('"parameters"', "ipython"), absent=("<tool_call>", "[TOOL_CALLS]"), single=("single tool-calls",),
        opening="<|python_tag|>", bare='{"name": "', first=("",), between=("; ?",), last=("",),
        head=(r'\{"name": ?"',), middle=(r'", ?"parameters": ?',), tail=(r"\}",), id_length=None,
    ),
    CallFormat(
        name="mistral",  # tokenizers v3 and v7
        shown=("[TOOL_CALLS]",), absent=("[ARGS]", "<tool_call>"), single=(), opening="[TOOL_CALLS]", bare="",
        first=(r" ?\[",), between=(", ?",), last=(r"\]",),
        head=(r'\{"name": ?"',), middle=(r'", ?"arguments": ?',),
        tail=(r'(, ?"id": ?"[a-zA-Z0-9]{9}")?\}',), id_length=9,
    ),
    CallFormat(
        name="mistral-args",  # tokenizers from v11 on
        shown=("[TOOL_CALLS]", "[ARGS]"), absent=(), single=(), opening="[TOOL_CALLS]", bare="",
        first=(" ?",), between=("", "[TOOL_CALLS]", " ?"), last=("",),
        head=("",), middle=("", "[ARGS]", " ?"), tail=("",), id_length=9,
    ),
)  # fmt: skip

THOUGHTS = (Marks("<think>", "</think>"), Marks("[THINK]", "[/THINK]"))  # Qwen 3, DeepSeek R1; Magistral


def format_of(template: str) -> CallFormat | None:
    """How calls look for the model of a chat template; None where it has no tools, or in a form not known here."""
    for format_ in FORMATS:
        if _has(template, format_.shown) and not any(part in template for part in format_.absent):
            return format_
    return None


def thoughts_of(template: str) -> Marks | None:
    """The marks around thoughts that a chat template knows of."""
    return next((marks for marks in THOUGHTS if marks.closing in template), None)


def takes_one_call(format: CallFormat, template: str) -> bool:
    """Whether the template refuses a message with several calls."""
    return any(part in template for part in format.single)


def _has(template: str, parts: Iterable[str]) -> bool:
    return all(part in template for part in parts)
