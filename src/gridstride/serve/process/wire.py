"""Messages as bytes on a private socket between parent and own child: a length, then the pickled list of one step.

The two that come with every token travel as plain tuples: pickling a slotted dataclass runs Python for each field.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Any

from gridstride.serve.engine.messages import Stats, Update

HEADER = struct.Struct("<Q")
MOST = 1 << 30  # bytes of one frame; a longer one means that the two sides have lost step
_PLAIN: tuple[type[Any], ...] = (Update, Stats)
_NAMES = [tuple(field.name for field in fields(kind)) for kind in _PLAIN]
_VALUES = [attrgetter(*names) for names in _NAMES]
_TAGS = {kind: tag for tag, kind in enumerate(_PLAIN)}


class FrameError(Exception):
    """The other side sent what no message is."""


def packed(messages: Iterable[Any]) -> bytes:
    """One frame, its header included."""
    body = pickle.dumps([_plain(message) for message in messages], protocol=5)
    if len(body) > MOST:
        raise FrameError(f"a frame of {len(body)} bytes: at most {MOST} can be sent")
    return HEADER.pack(len(body)) + body


def length(header: bytes) -> int:
    """Bytes that follow a header."""
    (count,) = HEADER.unpack(header)
    if count > MOST:
        raise FrameError(f"a frame of {count} bytes was announced: at most {MOST} are taken")
    return int(count)


def unpacked(body: bytes) -> list[Any]:
    """The messages of a frame's body; only for what an own child or the own parent sent."""
    try:
        return [_object(message) for message in pickle.loads(body)]
    except Exception as error:
        raise FrameError(f"a frame that is none: {error}") from error


def _plain(message: Any) -> Any:
    tag = _TAGS.get(type(message))
    return message if tag is None else (tag, *_VALUES[tag](message))


def _object(message: Any) -> Any:
    if type(message) is not tuple:
        return message
    tag = message[0]
    return _PLAIN[tag](**dict(zip(_NAMES[tag], message[1:], strict=True)))
