"""An answer's text, as it comes, to what is said, what is thought and which tools are called."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gridstride.serve.answers.formats import CallFormat, Glue, Marks

_NAME = r"(?P<name>[a-zA-Z0-9_.-]{1,64})"


@dataclass(frozen=True, slots=True)
class Content:
    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    text: str


@dataclass(frozen=True, slots=True)
class CallBegun:
    """`index` counts the calls of an answer."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    """More of a call's arguments, which are JSON when they are complete."""

    index: int
    text: str


Event: TypeAlias = Content | Reasoning | CallBegun | ArgumentsDelta


class AnswerReader:
    """One answer. What could still become a mark is held back until it is one, or is none."""

    def __init__(self, *, format: CallFormat | None, thoughts: Marks | None, begun: bool) -> None:
        """`format` None: nothing is called. `begun`: the prompt ends within thoughts."""
        self._format, self._thoughts = format, thoughts
        self._head = None if format is None else re.compile(_regex(format.head) + _NAME + _regex(format.middle))
        self._text = ""  # not yet given
        self._calls = 0
        self._fresh = True  # nothing of what is given now has come
        self._json = _JsonObject()
        self._read: Callable[[bool], list[Event] | None] = self._begin
        if thoughts is not None and begun:
            self._read = self._think

    @property
    def calls(self) -> int:
        """Begun so far."""
        return self._calls

    @property
    def is_within_a_call(self) -> bool:
        """Whether the arguments of the last one go on."""
        return self._read == self._argue

    def push(self, text: str, *, last: bool = False) -> list[Event]:
        """What is certain now. `last`: no more text comes."""
        self._text += text
        events: list[Event] = []
        while (new_events := self._read(last)) is not None:
            events += new_events
        return events

    # Each state takes from the text what it can and names the next one; None: it waits for more.
    def _begin(self, last: bool) -> list[Event] | None:
        text = self._text.lstrip()
        marks = [] if self._thoughts is None else [self._thoughts.opening]
        bare = self._format.bare if self._format is not None else ""
        if marks and text.startswith(marks[0]):
            self._text = text[len(marks[0]) :]
            return self._continue_with(self._think)
        if bare and text.startswith(bare):
            return self._continue_with(self._call)
        if not last and any(mark.startswith(text) for mark in [*marks, bare] if mark):
            return None
        return self._continue_with(self._read_content)

    def _think(self, last: bool) -> list[Event] | None:
        assert self._thoughts is not None
        closing = self._thoughts.closing
        text, mark, following = self._text.partition(closing)
        if mark:
            self._text = following
            return [*_some(Reasoning, self._opened(text.rstrip("\n"))), *self._continue_with(self._answer)]
        return self._give(Reasoning, closing, last)

    def _answer(self, last: bool) -> list[Event] | None:
        """After thoughts: what is said begins with no white space."""
        self._text = self._text.lstrip()
        bare = self._format.bare if self._format is not None else ""
        if bare and self._text.startswith(bare):
            return self._continue_with(self._call)
        if not last and (not self._text or bare.startswith(self._text)):
            return None
        return self._continue_with(self._read_content)

    def _read_content(self, last: bool) -> list[Event] | None:
        if self._format is None:
            return self._give(Content, "", last)
        text, mark, following = self._text.partition(self._format.opening)
        if mark:
            self._text = following
            return [*_some(Content, text.rstrip()), *self._continue_with(self._call)]
        return self._give(Content, self._format.opening, last)

    def _call(self, last: bool) -> list[Event] | None:
        assert self._format is not None
        assert self._head is not None
        match = self._head.search(self._text)
        if match is None:
            if not last or not self._text:
                return None
            unread, self._text = self._text, ""
            return [] if self._calls else [Content(unread)]  # a text that was cut before the call had a name
        self._text = self._text[match.end() :]
        self._calls += 1
        self._json = _JsonObject()
        return [CallBegun(self._calls - 1, self._format.new_id(), match["name"]), *self._continue_with(self._argue)]

    def _argue(self, last: bool) -> list[Event] | None:
        text = self._text if self._json.begun else self._text.lstrip()
        if not text:
            return None
        end = self._json.take(text)
        part, self._text = (text, "") if end is None else (text[:end], text[end:])
        return [ArgumentsDelta(self._calls - 1, part), *(self._continue_with(self._call) if end is not None else ())]

    def _give(self, kind: type[Content] | type[Reasoning], mark: str, last: bool) -> list[Event] | None:
        """All that is no beginning of the mark, nor white space that may come before it."""
        held_back = 0 if last else _doubtful(self._text, mark)
        part = self._text[: len(self._text) - held_back]
        if not part:
            return None
        self._text = self._text[len(part) :]
        return _some(kind, self._opened(part) if kind is Reasoning else part)

    def _opened(self, text: str) -> str:
        """Thoughts without the ends of lines before them."""
        text = text.lstrip("\n") if self._fresh else text
        self._fresh = self._fresh and not text
        return text

    def _continue_with(self, state: Callable[[bool], list[Event] | None]) -> list[Event]:
        self._read = state
        return []


class _JsonObject:
    """Where an object that comes in pieces ends."""

    def __init__(self) -> None:
        self.begun = False
        self._depth = 0
        self._quoted = self._escaped = False

    def take(self, text: str) -> int | None:
        """Characters of `text` up to the object's end; None where it goes on."""
        self.begun = True
        for index, char in enumerate(text):
            if self._quoted:
                self._quoted = self._escaped or char != '"'
                self._escaped = char == "\\" and not self._escaped
            elif char == '"':
                self._quoted = True
            elif char in "{[":
                self._depth += 1
            elif char in "}]":
                self._depth -= 1
                if self._depth <= 0:
                    return index + 1
        return None


def _regex(glue: Glue) -> str:
    return "".join(part if index % 2 == 0 else re.escape(part) for index, part in enumerate(glue))


def _some(kind: type[Content] | type[Reasoning], text: str) -> list[Event]:
    return [kind(text)] if text else []


def _doubtful(text: str, mark: str) -> int:
    """Length of the end of `text` that may belong to a mark, or be white space before one."""
    if not mark:
        return 0
    sizes = range(min(len(mark) - 1, len(text)), 0, -1)
    begun = next((size for size in sizes if mark.startswith(text[-size:])), 0)
    certain = text[: len(text) - begun]
    return begun + len(certain) - len(certain.rstrip())
