"""Messages as bytes on a private socket between parent and own child: a length, then the pickled list of one step.

Those that come with every token or request travel as plain tuples: pickling a slotted dataclass runs Python for each
field.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from gridstride.serve.engine.messages import Stats, Submit, Update
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.process.protocol import Accepted


def _getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda message: (get(message),)


HEADER = struct.Struct("<Q")
MOST = 1 << 30  # bytes of one frame; a longer one means that the two sides have lost step
_PLAIN: tuple[type[Any], ...] = (Update, Stats, Submit, Accepted)
_NAMES = [tuple(field.name for field in fields(kind)) for kind in _PLAIN]
_VALUES = [_getter(names) for names in _NAMES]
_TAGS = {kind: tag for tag, kind in enumerate(_PLAIN)}
_UPDATE, _SUBMIT = _TAGS[Update], _TAGS[Submit]
_SAMPLING = 1 + _NAMES[_SUBMIT].index("sampling")


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
    if tag is None:
        return message
    plain = [tag, *_VALUES[tag](message)]
    if tag == _SUBMIT:
        plain[_SAMPLING] = message.sampling.chosen
    return tuple(plain)


def _object(message: Any) -> Any:
    if type(message) is not tuple:
        return message
    tag = message[0]
    if tag == _UPDATE:
        return Update(*message[1:])
    values = dict(zip(_NAMES[tag], message[1:], strict=True))
    if tag == _SUBMIT:
        values["sampling"] = Sampling(**values["sampling"])
    return _PLAIN[tag](**values)
