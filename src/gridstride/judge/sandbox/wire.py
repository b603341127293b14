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
_MOST_BUFFERS = 256
_MOST_TEXT = 64 << 20


class WireError(Exception):
    """Bytes that are no message."""


@dataclass(frozen=True, slots=True)
class Message:
    """What one side says to the other."""

    words: dict[str, Any]
    buffers: Sequence[bytes] = ()


def packed(message: Message) -> bytes:
    """The message as bytes."""
    text = json.dumps(message.words).encode()
    sizes = b"".join(_SIZE.pack(len(each)) for each in message.buffers)
    return b"".join((_HEAD.pack(len(text), len(message.buffers)), sizes, text, *message.buffers))


@dataclass(slots=True)
class Reader:
    """Puts a message together from the bytes that come; WireError for more of them than `most`."""

    most: int
    _bytes: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> Message | None:
        """Take some bytes; the message once it is whole."""
        self._bytes += data
        if len(self._bytes) < _HEAD.size:
            return None
        text, count = _HEAD.unpack_from(self._bytes)
        if text > _MOST_TEXT or count > _MOST_BUFFERS:
            raise WireError(f"a message of {text} characters and {count} buffers")
        start = _HEAD.size + count * _SIZE.size
        if len(self._bytes) < start:
            return None
        sizes = [_SIZE.unpack_from(self._bytes, _HEAD.size + i * _SIZE.size)[0] for i in range(count)]
        whole = start + text + sum(sizes)
        if whole > self.most:
            raise WireError(f"a message of {whole} bytes")
        if len(self._bytes) < whole:
            return None
        message = _parsed(bytes(self._bytes[:whole]), start, text, sizes)
        del self._bytes[:whole]
        return message


def read(take: Callable[[int], bytes]) -> Message | None:
    """The next message of a stream that `take(n)` reads from; None at its end."""
    head = take(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    text, count = _HEAD.unpack(head)
    sizes = [_SIZE.unpack(take(_SIZE.size))[0] for _ in range(count)]
    words = json.loads(take(text))
    return Message(words, [take(size) for size in sizes])


def _parsed(data: bytes, start: int, text: int, sizes: Sequence[int]) -> Message:
    try:
        words = json.loads(data[start : start + text])
    except ValueError as error:
        raise WireError("a message that is no JSON") from error
    if not isinstance(words, dict):
        raise WireError("a message that is no object")
    buffers, at = [], start + text
    for size in sizes:
        buffers.append(data[at : at + size])
        at += size
    return Message(words, buffers)
