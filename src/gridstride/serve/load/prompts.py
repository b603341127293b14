"""What the requests say: a user's own prompts, or pieces of the Python standard library's source."""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Protocol

from gridstride.serve.load.errors import LoadError

CHARACTERS_PER_TOKEN = 4.0  # of most byte-pair vocabularies on English text, where the server cannot be asked
_SOURCE_CHARACTERS = 1_000_000

Prompt = str | tuple[int, ...]


class PromptSource(Protocol):
    def draw(self, random: Random, length: int) -> Prompt:
        """A prompt of about `length` tokens."""
        ...


class Own:
    """Prompts of a file, in turn; their lengths are their own."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._next = 0

    def draw(self, random: Random, length: int) -> Prompt:
        self._next += 1
        return self._texts[(self._next - 1) % len(self._texts)]


class TextExcerpts:
    """Pieces of one long text from random places, so that hardly any two begin alike."""

    def __init__(self, text: str, characters_per_token: float) -> None:
        self._text, self._scale = text, characters_per_token

    def draw(self, random: Random, length: int) -> Prompt:
        size = max(1, round(length * self._scale))
        start = random.randrange(len(self._text))
        return _round(self._text, start, size)


class CutTokens:
    """The same of a text's tokens: as long as was asked for, exactly."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens = tuple(tokens)

    def draw(self, random: Random, length: int) -> Prompt:
        start = random.randrange(len(self._tokens))
        repeated = self._tokens[start:] + self._tokens * (length // len(self._tokens) + 1)
        return repeated[:length]


def _round(text: str, start: int, size: int) -> str:
    """`size` characters from `start`, beginning again at the end."""
    return (text[start:] + text * (size // len(text) + 1))[:size]


def read(path: str) -> Own:
    """Prompts of a JSONL file: a string in each line, or an object with `prompt` or `text`."""
    try:
        lines = Path(path).expanduser().read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise LoadError(f"{path} is not text in UTF-8") from error
    texts = [_text_of(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not texts:
        raise LoadError(f"{path} holds no prompt")
    return Own(texts)


def _text_of(path: str, number: int, line: str) -> str:
    try:
        thing = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LoadError(f"{path}:{number} is not JSON") from error
    text = thing.get("prompt", thing.get("text")) if isinstance(thing, dict) else thing
    if not isinstance(text, str) or not text:
        raise LoadError(f'{path}:{number} is no prompt: a string, or an object with "prompt", is needed')
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise LoadError(f"{path}:{number} has half a character, {text[error.start]!r}") from error
    return text


@cache
def library_source() -> str:
    """The beginning of the Python standard library's own source, which is on every machine; read once."""
    text = "".join(_modules(_SOURCE_CHARACTERS))
    if not text:
        raise LoadError("this Python has no source of its standard library: name a file with --prompts")
    return text


def _modules(characters: int) -> Iterator[str]:
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        if characters <= 0:
            return
        text = file.read_text(encoding="utf-8", errors="replace")
        characters -= len(text)
        yield text
