"""What a program's copies carried, written to a file while it runs: what the device was given and gave back."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from typing import BinaryIO

from gridstride.programs.timeline.model import TO_DEVICE, TO_HOST

_RECORD = struct.Struct("<BQ")  # direction and bytes, which follow
_NOT_IN_ONE_PIECE = 255
"""A direction of its own: rows of a box, whose bytes are not kept."""


class CopyLog:
    """Appends each copy between host and device to a file, before it is done."""

    def __init__(self, path: str) -> None:
        self._file: BinaryIO = open(path, "wb", buffering=0)  # noqa: SIM115  # open until the process ends, however it does

    def copied(self, nbytes: int, kind: int, origin: int) -> None:
        """`origin`: where the bytes are; 0 where they are not in one piece."""
        if kind not in (TO_DEVICE, TO_HOST):
            return
        if origin:
            self._file.write(_RECORD.pack(kind, nbytes) + ctypes.string_at(origin, nbytes))
        else:
            self._file.write(_RECORD.pack(_NOT_IN_ONE_PIECE, 0))


@dataclass(frozen=True, slots=True)
class Copied:
    """The bytes of each copy by direction. `is_whole`: of every copy; False where some were of boxes. `came_before`:
    how many copies to the host each one to the device had before it.
    """

    to_device: tuple[bytes, ...]
    to_host: tuple[bytes, ...]
    is_whole: bool
    came_before: tuple[int, ...]


def read_copy_log(raw: bytes) -> Copied:
    """The file belongs to a stranger's process: what is no record ends it."""
    parts: dict[int, list[bytes]] = {TO_DEVICE: [], TO_HOST: []}
    came_before: list[int] = []
    is_whole, at = True, 0
    while at + _RECORD.size <= len(raw):
        kind, nbytes = _RECORD.unpack_from(raw, at)
        at += _RECORD.size
        if kind in parts and at + nbytes <= len(raw):
            if kind == TO_DEVICE:
                came_before.append(len(parts[TO_HOST]))
            parts[kind].append(raw[at : at + nbytes])
        is_whole = is_whole and kind in parts
        at += nbytes
    return Copied(tuple(parts[TO_DEVICE]), tuple(parts[TO_HOST]), is_whole, tuple(came_before))
