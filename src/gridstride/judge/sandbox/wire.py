"""Messages between a judge and its worker: one JSON object and any number of raw buffers. Nothing that could be code.

A frame: bytes of the JSON (u32), number of buffers (u32), the size of each (u64), the JSON, the buffers.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

_HEAD = struct.Struct("<II")
_SIZE = struct.Struct("<Q")


class WireError(Exception):
    """Bytes that are no message."""


@dataclass(frozen=True, slots=True)
class WireMessage:
    """What one side says to the other."""

    words: dict[str, Any]
    buffers: Sequence[bytes | bytearray] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a message may hold at most: bytes of JSON, buffers, bytes of all buffers together."""

    words: int = 1 << 20
    buffers: int = 0
    nbytes: int = 0


def packed(message: WireMessage) -> bytes:
    """The message as bytes."""
    text = json.dumps(message.words).encode()
    sizes = b"".join(_SIZE.pack(len(buffer)) for buffer in message.buffers)
    return b"".join((_HEAD.pack(len(text), len(message.buffers)), sizes, text, *message.buffers))


@dataclass(slots=True)
class MessageReader:
    """Puts one message together from the bytes that come; WireError for what is none, or goes beyond its bounds.

    It never holds more than the bounds, whatever a message says of itself, and each byte once.
    """

    bounds: Bounds
    _parts: list[bytearray] = field(default_factory=lambda: [bytearray()])  # head, sizes, JSON, buffers
    _sizes: list[int] = field(default_factory=lambda: [_HEAD.size])

    def feed(self, data: bytes) -> WireMessage | None:
        """Take some bytes; the message once it is whole."""
        remaining = memoryview(data)
        while True:
            part, size = self._parts[-1], self._sizes[len(self._parts) - 1]
            piece = remaining[: size - len(part)]
            part += piece
            remaining = remaining[len(piece) :]
            if len(part) < size:
                return None
            self._expect_more()
            if len(self._parts) == len(self._sizes):
                break
            self._parts.append(bytearray())
        if remaining:
            raise WireError("more than one message")
        return WireMessage(_object(self._parts[2]), self._parts[3:])

    def _expect_more(self) -> None:
        """What comes after a part that says so."""
        part = self._parts[-1]
        if len(self._parts) == 1:
            text, count = _HEAD.unpack(part)
            if text > self.bounds.words or count > self.bounds.buffers:
                raise WireError(f"a message of {text} characters and {count} buffers")
            self._sizes += [count * _SIZE.size, text]
        elif len(self._parts) == 2:
            sizes = [size for (size,) in _SIZE.iter_unpack(part)]
            if sum(sizes) > self.bounds.nbytes:
                raise WireError(f"a message of {sum(sizes)} bytes")
            self._sizes += sizes


def read(take: Callable[[int], bytes]) -> WireMessage | None:
    """The next message of a stream that `take(n)` reads from, which is trusted; None at its end."""
    head = take(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    text, count = _HEAD.unpack(head)
    sizes = [_SIZE.unpack(take(_SIZE.size))[0] for _ in range(count)]
    words = json.loads(take(text))
    return WireMessage(words, [take(size) for size in sizes])


def _object(data: bytearray) -> dict[str, Any]:
    try:
        words = json.loads(data)
    except (ValueError, RecursionError) as error:  # nested too deeply for the parser, too
        raise WireError("a message that is no JSON") from error
    if not isinstance(words, dict):
        raise WireError("a message that is no object")
    return words
