"""The events of a Chrome trace one by one: a trace of a gigabyte must not become a gigabyte of dictionaries first."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

_CHUNK = 1 << 20  # characters
_LARGEST = 16 << 20  # characters of one event, or of what stands before the first; kilobytes are usual
_DECODER = json.JSONDecoder(strict=False)  # names with tabs in them have been seen
_EVENTS = re.compile(r'"traceEvents"\s*:\s*\[')
_SPACE = re.compile(r"[\s,]*")
_GZIP = b"\x1f\x8b"


class TraceError(ValueError):
    """A file that is no trace of the PyTorch profiler; the message says what it is instead."""


class Events:
    """The events of one file, and, once they have all been read, what the file says beside them (`about`)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.about: dict[str, Any] = {}
        self._text, self._at = "", 0
        self._file: IO[str]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        try:
            with _open(self.path) as self._file:
                head = self._head()
                yield from self._events()
                self._read_about(head)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise TraceError(f"{self.path} is cut off or damaged: its compression breaks off ({error})") from error
        except UnicodeDecodeError as error:
            raise TraceError(f"{self.path} is no Chrome trace: it is not text") from error

    def _head(self) -> str:
        """What stands before the first event, which is read next."""
        self._more()
        start = self._text.lstrip()[:1]
        if not start:
            raise TraceError(f"{self.path} is empty")
        if start == "[":  # the format's other form: the events alone
            self._at = self._text.index("[") + 1
            return ""
        match = _EVENTS.search(self._text)
        while start == "{" and not match and len(self._text) < _LARGEST and self._more():
            match = _EVENTS.search(self._text)
        if start != "{" or not match:
            raise TraceError(f'{self.path} is no Chrome trace: there is no "traceEvents" in it')
        self._at = match.end()
        return self._text[: match.end()]

    def _events(self) -> Iterator[dict[str, Any]]:
        number = 0
        while not self._ended():
            event = self._next(number)
            number += 1
            if not isinstance(event, dict):
                raise TraceError(f"{self.path} is no Chrome trace: event {number} is {str(event)[:40]!r}, no object")
            yield event

    def _ended(self) -> bool:
        """Goes to the next event and says whether there is none."""
        self._at = cast(re.Match[str], _SPACE.match(self._text, self._at)).end()
        while self._at == len(self._text) and self._more():
            self._at = cast(re.Match[str], _SPACE.match(self._text, self._at)).end()
        return self._text.startswith("]", self._at)

    def _next(self, number: int) -> object:
        while True:
            try:
                event, self._at = _DECODER.raw_decode(self._text, self._at)
                return event
            except (json.JSONDecodeError, RecursionError) as error:
                if len(self._text) - self._at > _LARGEST or not self._more():
                    raise TraceError(self._broken(number)) from error

    def _more(self) -> bool:
        """Another piece of the file after what is left; False at its end."""
        piece = self._file.read(_CHUNK)
        self._text, self._at = self._text[self._at :] + piece, 0
        return bool(piece)

    def _read_about(self, head: str) -> None:
        while self._more():
            if len(self._text) > _LARGEST:
                raise TraceError(f"{self.path}: what follows the events is too long to be part of a trace")
        if not head:
            return
        try:
            self.about = _DECODER.decode((head + self._text).strip())
        except (json.JSONDecodeError, RecursionError) as error:
            raise TraceError(f"{self.path} is cut off or damaged at its end: export or copy it again") from error

    def _broken(self, number: int) -> str:
        if number == 0:
            return f"{self.path} is no Chrome trace, or cut off: its first event cannot be read"
        return f"{self.path} is cut off or damaged after {number} events: export or copy it again"


def _open(path: Path) -> IO[str]:
    with path.open("rb") as file:
        compressed = file.read(2) == _GZIP
    if compressed:
        return cast(IO[str], gzip.open(path, "rt", encoding="utf-8"))
    return path.open(encoding="utf-8")
